"""Another statement about a slide, in the memory ledger."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.ledger_rules import (
    check_restatable,
    make_deleted_slide_error,
    make_slide_in_use_error,
    needs_reinspection,
)
from wsi.records.identity import Actor
from wsi.records.restatement import Restatement
from wsi.records.slides import Slide
from wsi.states import SlideState


class MemoryRestatement:
    books: Books

    def restate_slide(self, actor: Actor, slide_id: UUID, restatement: Restatement) -> Slide:
        with self.books.lock:
            slide = self.books.slide_of(actor, slide_id)
            if slide.state is SlideState.DELETED:
                raise make_deleted_slide_error()
            stated = restatement.apply_to(slide)
            if needs_reinspection(slide, restatement):
                restated = self._inspect_again(slide, stated)
            elif stated.name != slide.name:
                restated = replace(slide, name=stated.name, version=slide.version + 1)
                self.books.slides[slide_id] = restated
            else:
                return slide
            self.books.note(actor, "slide.restate", slide_id, restatement.make_audit_detail())
            return restated

    def _inspect_again(self, slide: Slide, stated: Slide) -> Slide:
        check_restatable(slide, self.books.now())
        if self.books.is_read(slide.id):
            raise make_slide_in_use_error()
        found = {"reason": None, "sentence": None, "inspection": None, "thumbnail_key": None}
        moved = self.books.move_slide(
            slide.id, SlideState.UPLOADED, name=stated.name, mpp=stated.mpp, choice=stated.choice, **found
        )
        assert moved is not None, "the slide was READY or REJECTED"
        self.books.send_to_inspection(slide)
        return moved
