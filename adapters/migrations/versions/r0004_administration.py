"""The owner writes into the audit log what it does to a tenant. It still reads no tenant's rows."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("CREATE POLICY administration ON audit_log FOR INSERT TO CURRENT_USER WITH CHECK (true)")
