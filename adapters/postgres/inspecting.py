"""Inspection: a slide is accepted or rejected. And what the readers of slides need to know of its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres import deidentifying, slides
from adapters.postgres.connections import Transactions
from wsi.errors import NotFound, RejectReason
from wsi.records.slides import Slide
from wsi.states import SlideState


class PostgresInspection(Transactions):
    """The outcomes of an inspection."""

    def find_uninspected_slide(self, slide_id: UUID) -> Slide | None:
        with self._transaction() as cursor:
            try:
                slide = slides.get(cursor, slide_id)
            except NotFound:
                return None
            return slide if slide.state is SlideState.UPLOADED else None

    def accept_slide(self, slide_id: UUID, inspection: Mapping[str, Any], thumbnail_key: str, *, version: int) -> bool:
        found = {"inspection": Jsonb(dict(inspection)), "thumbnail_key": thumbnail_key}
        with self._transaction() as cursor:
            if deidentifying.lock_pending(cursor, slide_id) is not None:
                return False
            # RESTORING -> READY is not an inspection's move.
            source = SlideState.UPLOADED
            return slides.move(cursor, slide_id, SlideState.READY, source=source, at_version=version, **found)

    def reject_slide(self, slide_id: UUID, reason: RejectReason, sentence: str, *, version: int | None = None) -> bool:
        with self._transaction() as cursor:
            return slides.reject(cursor, slide_id, reason, sentence, at_version=version)

    def list_file_names(self, slide_id: UUID) -> tuple[str, ...]:
        with self._transaction() as cursor:
            found = cursor.execute("SELECT name FROM slide_files WHERE slide_id = %s ORDER BY position", (slide_id,))
            return tuple(row["name"] for row in found)
