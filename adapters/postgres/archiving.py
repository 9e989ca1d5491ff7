"""Slides that move into the archive and come back."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from adapters.postgres import slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from wsi.ledger_rules import check_archivable, check_restorable
from wsi.records.identity import Actor
from wsi.records.slides import RestoreTier, Slide
from wsi.states import SlideState


class PostgresTenantArchive(Transactions):
    """The API's operations on archived slides."""

    def archive_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            slide = slides.lock(cursor, slide_id)
            if slide.state is SlideState.ARCHIVED:
                return slide
            check_archivable(slide)
            slides.check_unused(cursor, slide_id)
            archived = _archive(cursor, slide_id)
            note(cursor, actor, "slide.archive", slide_id)
            return archived

    def restore_slide(self, actor: Actor, slide_id: UUID, tier: RestoreTier) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            slide = slides.lock(cursor, slide_id)
            if slide.state in (SlideState.RESTORING, SlideState.READY):
                return slide
            check_restorable(slide)
            slides.move(cursor, slide_id, SlideState.RESTORING, restore_tier=tier.value)
            restoring = slides.get(cursor, slide_id)
            note(cursor, actor, "slide.restore", slide_id, {"tier": tier.value})
            return restoring


class PostgresSystemArchive(Transactions):
    """The sweep's operations on archived slides: it restores them and archives them again."""

    def claim_restoring_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self._transaction() as cursor:
            looked_at = cursor.execute(
                """
                UPDATE slides SET woken_at = now() WHERE id IN (
                    SELECT id FROM slides WHERE state = 'RESTORING' AND woken_at < now() - make_interval(secs => %s)
                    ORDER BY woken_at, id LIMIT %s FOR UPDATE SKIP LOCKED
                )
                RETURNING id
                """,
                (seconds, limit),
            ).fetchall()
            return tuple(slides.get(cursor, row["id"]) for row in looked_at)

    def finish_restore(self, slide_id: UUID, *, until: datetime | None) -> bool:
        with self._transaction() as cursor:
            # UPLOADED -> READY is an inspection's move.
            changes: dict[str, Any] = {"restore_tier": None, "restored_until": until}
            return slides.move(cursor, slide_id, SlideState.READY, source=SlideState.RESTORING, **changes)

    def expire_restored(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self._transaction() as cursor:
            ending = cursor.execute(
                """
                SELECT id FROM slides WHERE state = 'READY' AND restored_until < now() + make_interval(secs => %s)
                    AND NOT EXISTS (SELECT FROM jobs WHERE slide_id = slides.id AND finished_at IS NULL)
                ORDER BY restored_until, id LIMIT %s FOR UPDATE SKIP LOCKED
                """,
                (seconds, limit),
            ).fetchall()
            # Checked again under the lock, which a submission waits for: a job may have begun since the query above.
            return tuple(_archive(cursor, row["id"]) for row in ending if not slides.is_read(cursor, row["id"]))


def _archive(cursor: Cursor, slide_id: UUID) -> Slide:
    slides.move(cursor, slide_id, SlideState.ARCHIVED, restored_until=None)
    return slides.get(cursor, slide_id)
