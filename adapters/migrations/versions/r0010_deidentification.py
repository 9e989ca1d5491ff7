"""Slides without what identifies somebody: that it was asked for, what it takes away, and where the clean files lie."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE slides
            ADD COLUMN deidentify boolean NOT NULL DEFAULT false,
            ADD COLUMN removed jsonb CHECK (jsonb_typeof(removed) = 'object'),
            ADD COLUMN deidentified boolean NOT NULL DEFAULT false,
            ADD CHECK (deidentified <= (deidentify AND removed IS NOT NULL)),
            ADD CHECK ((deidentify AND NOT deidentified) <= (state NOT IN ('READY', 'ARCHIVED', 'RESTORING')));
        COMMENT ON COLUMN slides.removed IS 'counts of images, tags and files, once de-identification has begun';
        COMMENT ON COLUMN slides.deidentified IS 'slide_files are the clean copies, and what came is gone';
        ALTER TABLE slide_files
            ADD COLUMN clean_uri text,
            ADD COLUMN clean_upload_id text,
            ADD CHECK ((clean_uri IS NULL) = (clean_upload_id IS NULL));
        COMMENT ON COLUMN slide_files.clean_uri IS 'of the copy that is being made; NULL of a file that is left out';
        GRANT UPDATE, DELETE ON slide_files TO tessera_system;
        """
    )
