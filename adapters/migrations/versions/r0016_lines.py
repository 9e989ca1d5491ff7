"""Shards that wait in their tenant's line until the relay admits them, so that tenants share the GPUs.

Shards that were planned before, or by the code of the release before, are in no line: their messages went at once.
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"

_LINES = """
ALTER TABLE shards ADD COLUMN waits_in text CHECK (waits_in IN ('high', 'normal', 'low'));
COMMENT ON COLUMN shards.waits_in IS 'the priority in whose line it waits; NULL once its message went to the outbox';

CREATE INDEX shards_in_line ON shards (waits_in, tenant, woken_at, job_id, index)
    WHERE waits_in IS NOT NULL AND state = 'QUEUED';
CREATE INDEX shards_in_flight ON shards (job_id) WHERE waits_in IS NULL AND state IN ('QUEUED', 'RUNNING');
"""


def upgrade() -> None:
    op.execute(_LINES)
