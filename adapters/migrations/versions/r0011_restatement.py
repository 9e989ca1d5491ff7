"""A slide's choice may name an image of several, and each inspection stores its objects in a folder of its own."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.execute(
        """
        COMMENT ON COLUMN slides.choice IS
            'optical_path, focal_plane and picture, as the user states them; NULL: none of them';
        COMMENT ON COLUMN slides.thumbnail_key IS
            'in the folder of the last inspection, next to the index and the tissue mask that it stored';
        """
    )
