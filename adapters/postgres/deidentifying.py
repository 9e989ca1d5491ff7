"""De-identification: it records where the clean copies of a slide's files are, and makes them the slide's files."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres import slides
from adapters.postgres.connections import Cursor, Transactions
from wsi.errors import NotFound
from wsi.ledger_rules import needs_deidentification
from wsi.records.slides import Choice, CleanCopy, Removed, Slide
from wsi.states import SlideState


class PostgresDeidentification(Transactions):
    """The steps of de-identification that SQL records."""

    def find_identifiable_slide(self, slide_id: UUID) -> Slide | None:
        with self._transaction() as cursor:
            try:
                slide = slides.get(cursor, slide_id)
            except NotFound:
                return None
            return slide if slide.state is SlideState.REJECTED and needs_deidentification(slide) else None

    def begin_deidentification(
        self, slide_id: UUID, name: str, copies: Mapping[int, tuple[str, CleanCopy]], removed: Removed
    ) -> Slide | None:
        with self._transaction() as cursor:
            slide = lock_pending(cursor, slide_id)
            if slide is None or slide.removed is not None:
                return slide
            cursor.execute(
                "UPDATE slides SET name = %s, removed = %s, updated_at = now() WHERE id = %s",
                (name, Jsonb(removed.as_json()), slide_id),
            )
            cursor.executemany(
                """
                UPDATE slide_files SET name = %s, clean_uri = %s, clean_upload_id = %s
                WHERE slide_id = %s AND position = %s
                """,
                [(called, copy.uri, copy.upload_id, slide_id, place) for place, (called, copy) in copies.items()],
            )
            return slides.get(cursor, slide_id)

    def finish_deidentification(
        self, slide_id: UUID, *, digest: str, copies: Mapping[str, tuple[str, int]], choice: Choice | None
    ) -> bool:
        with self._transaction() as cursor:
            slide = lock_pending(cursor, slide_id)
            if slide is None or slide.removed is None:
                return False
            cursor.execute(
                """
                UPDATE slides SET deidentified = true, digest = %s, choice = %s, version = version + 1,
                    updated_at = now()
                WHERE id = %s
                """,
                (digest, Jsonb(choice.as_json()) if choice is not None else None, slide_id),
            )
            cursor.execute("DELETE FROM slide_files WHERE slide_id = %s AND clean_uri IS NULL", (slide_id,))
            cursor.executemany(
                """
                UPDATE slide_files SET uri = clean_uri, etag = %s, size = %s, clean_uri = NULL, clean_upload_id = NULL
                WHERE slide_id = %s AND clean_uri = %s
                """,
                [(etag, size, slide_id, uri) for uri, (etag, size) in copies.items()],
            )
            cursor.execute(
                """
                INSERT INTO audit_log (tenant, actor, action, subject, detail)
                VALUES (%s, %s, 'slide.deidentify', %s, %s)
                """,
                (slide.tenant, slide.created_by, str(slide_id), Jsonb(slide.removed.as_json())),
            )
            return True


def lock_pending(cursor: Cursor, slide_id: UUID) -> Slide | None:
    """Lock the slide until the transaction ends and return it; None unless it is UPLOADED and has to be
    de-identified."""
    try:
        slide = slides.lock(cursor, slide_id)
    except NotFound:
        return None
    return slide if slide.state is SlideState.UPLOADED and needs_deidentification(slide) else None
