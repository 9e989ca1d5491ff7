"""The owner's right to read usage: tiles and worker time by tenant and day, for the costs of the installation."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.execute("CREATE POLICY administration ON usage FOR SELECT TO CURRENT_USER USING (true)")
