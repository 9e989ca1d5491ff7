"""Unsent outbox rows in the order of their sending: messages of queues before pushes, each oldest first."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    # A relay before this revision claims by id alone; until it is replaced, it sorts the unsent rows, which are few.
    op.execute("CREATE INDEX outbox_to_send ON outbox ((topic = 'push'), id) WHERE sent_at IS NULL")
    op.execute("DROP INDEX outbox_unsent")
