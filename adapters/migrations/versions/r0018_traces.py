"""The trace of each slide: that of the request that created it, so that one trace leads from upload to result."""

from __future__ import annotations

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.execute("ALTER TABLE slides ADD COLUMN traceparent text")
