"""Slides that move into the archive and come back."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from adapters.postgres import slides
from adapters.postgres.connections import Cursor
from wsi.ledger_rules import check_archivable, check_restorable
from wsi.records.slides import RestoreTier, Slide
from wsi.states import SlideState


def archive(cursor: Cursor, slide_id: UUID) -> tuple[Slide, bool]:
    """The slide, and whether this call archived it."""
    slide = slides.locked(cursor, slide_id)
    if slide.state is SlideState.ARCHIVED:
        return slide, False
    check_archivable(slide)
    slides.check_unused(cursor, slide_id)
    return _archived(cursor, slide_id), True


def restore(cursor: Cursor, slide_id: UUID, tier: RestoreTier) -> tuple[Slide, bool]:
    """The slide, and whether this call asked for it."""
    slide = slides.locked(cursor, slide_id)
    if slide.state in (SlideState.RESTORING, SlideState.READY):
        return slide, False
    check_restorable(slide)
    slides.move(cursor, slide_id, SlideState.RESTORING, restore_tier=tier.value)
    return slides.get(cursor, slide_id), True


def restoring(cursor: Cursor, *, seconds: float, limit: int) -> tuple[Slide, ...]:
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


def finish(cursor: Cursor, slide_id: UUID, *, until: datetime | None) -> bool:
    # UPLOADED -> READY is an inspection's move.
    changes: dict[str, Any] = {"restore_tier": None, "restored_until": until}
    return slides.move(cursor, slide_id, SlideState.READY, source=SlideState.RESTORING, **changes)


def expire(cursor: Cursor, *, seconds: float, limit: int) -> tuple[Slide, ...]:
    ending = cursor.execute(
        """
        SELECT id FROM slides WHERE state = 'READY' AND restored_until < now() + make_interval(secs => %s)
            AND NOT EXISTS (SELECT FROM jobs WHERE slide_id = slides.id AND finished_at IS NULL)
        ORDER BY restored_until, id LIMIT %s FOR UPDATE SKIP LOCKED
        """,
        (seconds, limit),
    ).fetchall()
    # Asked again under the lock, which whoever makes a job waits for: the query above may have seen the time before.
    return tuple(_archived(cursor, row["id"]) for row in ending if not slides.is_read(cursor, row["id"]))


def _archived(cursor: Cursor, slide_id: UUID) -> Slide:
    slides.move(cursor, slide_id, SlideState.ARCHIVED, restored_until=None)
    return slides.get(cursor, slide_id)
