"""An index on the end of jobs: recent ends are counted each minute, without reading all jobs that ever ended."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    # Not CONCURRENTLY: that would wait for a second runner, which waits for this one's advisory lock.
    op.execute("CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL")
