"""Slides that hold several pictures at each place (optical paths, planes of focus): which one is meant."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE slides ADD COLUMN choice jsonb CHECK (jsonb_typeof(choice) = 'object');
        COMMENT ON COLUMN slides.choice IS 'optical_path and focal_plane, as the user states them; NULL: neither';
        """
    )
