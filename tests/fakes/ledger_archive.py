"""Archived slides in the memory ledger: the tenant's side and the system's."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.ledger_rules import check_archivable, check_restorable, make_slide_in_use_error
from wsi.records.identity import Actor
from wsi.records.slides import RestoreTier, Slide
from wsi.states import SlideState


class MemoryArchive:
    books: Books

    # --- the tenant's

    def archive_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self.books.lock:
            slide = self.books.slide_of(actor, slide_id)
            if slide.state is SlideState.ARCHIVED:
                return slide
            check_archivable(slide)
            if self.books.is_read(slide_id):
                raise make_slide_in_use_error()
            self.books.note(actor, "slide.archive", slide_id)
            return self._archive(slide)

    def restore_slide(self, actor: Actor, slide_id: UUID, tier: RestoreTier) -> Slide:
        with self.books.lock:
            slide = self.books.slide_of(actor, slide_id)
            if slide.state in (SlideState.RESTORING, SlideState.READY):
                return slide
            check_restorable(slide)
            moved = self.books.move_slide(slide_id, SlideState.RESTORING, restore_tier=tier)
            assert moved is not None, "the slide was ARCHIVED"
            self.books.note(actor, "slide.restore", slide_id, {"tier": tier.value})
            return moved

    # --- the sweep's

    def claim_restoring_slides(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self.books.lock:
            before = self.books.ago(seconds)
            waiting = [
                (self.books.woken_at[slide.id, None], slide)
                for slide in self.books.slides.values()
                if slide.state is SlideState.RESTORING and self.books.woken_at[slide.id, None] < before
            ]
            longest = [slide for _, slide in sorted(waiting, key=lambda pair: pair[0])[:limit]]
            for slide in longest:
                self.books.woken_at[slide.id, None] = self.books.now()
            return tuple(longest)

    def finish_restore(self, slide_id: UUID, *, until: datetime | None) -> bool:
        with self.books.lock:
            slide = self.books.slides.get(slide_id)
            if slide is None or slide.state is not SlideState.RESTORING:  # an inspection's move is none of this
                return False
            changes: dict[str, Any] = {"restore_tier": None, "restored_until": until}
            return self.books.move_slide(slide_id, SlideState.READY, **changes) is not None

    def expire_restored(self, *, seconds: float, limit: int) -> tuple[Slide, ...]:
        with self.books.lock:
            soon = self.books.hence(seconds)
            ending = [
                (slide.restored_until, slide)
                for slide in self.books.slides.values()
                if slide.state is SlideState.READY
                and slide.restored_until is not None
                and slide.restored_until < soon
                and not self.books.is_read(slide.id)
            ]
            return tuple(self._archive(slide) for _, slide in sorted(ending, key=lambda pair: pair[0])[:limit])

    def _archive(self, slide: Slide) -> Slide:
        moved = self.books.move_slide(slide.id, SlideState.ARCHIVED, restored_until=None)
        assert moved is not None, "the slide was READY"
        return moved
