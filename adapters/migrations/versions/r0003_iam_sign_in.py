"""The processes sign in by IAM where the server knows how: RDS has a role for that, other servers have none."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute(
        """
        DO $$ BEGIN
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_iam') THEN
                GRANT rds_iam TO tessera_api, tessera_system;
            END IF;
        END $$
        """
    )
