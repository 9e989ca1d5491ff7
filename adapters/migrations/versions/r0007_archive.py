"""Slides that come back from the archive: how they were asked for, and until when S3 keeps what it brought."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE slides
            ADD COLUMN restore_tier text CHECK (restore_tier IN ('standard', 'bulk')),
            ADD COLUMN restored_until timestamptz,
            ADD CHECK ((state = 'RESTORING') <= (restore_tier IS NOT NULL));
        COMMENT ON COLUMN slides.woken_at IS
            'when the last message about it went to the outbox; while RESTORING, when it was last looked at';
        CREATE INDEX slides_restoring ON slides (woken_at) WHERE state = 'RESTORING';
        CREATE INDEX slides_restored ON slides (restored_until) WHERE state = 'READY' AND restored_until IS NOT NULL;
        """
    )
