"""De-identification in the memory ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.ledger_rules import make_anonymous_name, needs_deidentification
from wsi.records.identity import Actor, Role
from wsi.records.slides import Choice, CleanCopy, Removed, Slide
from wsi.states import SlideState


class MemoryDeidentification:
    books: Books

    def find_identifiable_slide(self, slide_id: UUID) -> Slide | None:
        with self.books.lock:
            slide = self.books.slides.get(slide_id)
            return slide if slide and slide.state is SlideState.REJECTED and needs_deidentification(slide) else None

    def begin_deidentification(
        self, slide_id: UUID, name: str, copies: Mapping[int, tuple[str, CleanCopy]], removed: Removed
    ) -> Slide | None:
        with self.books.lock:
            slide = self._to_be_deidentified(slide_id)
            if slide is None or slide.removed is not None:
                return slide
            files = [
                replace(file, name=copies[place][0], clean=copies[place][1]) if place in copies else file
                for place, file in enumerate(slide.files)
            ]
            begun = replace(slide, name=name, files=tuple(files), removed=removed)
            self.books.slides[slide_id] = begun
            return begun

    def finish_deidentification(
        self, slide_id: UUID, *, digest: str, copies: Mapping[str, tuple[str, int]], choice: Choice | None
    ) -> bool:
        with self.books.lock:
            slide = self._to_be_deidentified(slide_id)
            if slide is None or slide.removed is None:
                return False
            files = [
                replace(file, uri=copy.uri, etag=copies[copy.uri][0], size=copies[copy.uri][1], clean=None)
                for file in slide.files
                if (copy := file.clean) is not None
            ]
            self.books.slides[slide_id] = replace(
                slide,
                files=tuple(files),
                digest=digest,
                choice=choice,
                deidentified=True,
                version=slide.version + 1,
            )
            uploader = Actor(tenant=slide.tenant, subject=slide.created_by, role=Role.ANALYST)
            self.books.note(uploader, "slide.deidentify", slide_id, slide.removed.as_json())
            return True

    def forget_names(self, slide: Slide) -> None:
        files = [replace(file, name=f"{place:05d}") for place, file in enumerate(slide.files)]
        self.books.slides[slide.id] = replace(slide, name=make_anonymous_name(slide.id), files=tuple(files))

    def _to_be_deidentified(self, slide_id: UUID) -> Slide | None:
        slide = self.books.slides.get(slide_id)
        return slide if slide and slide.state is SlideState.UPLOADED and needs_deidentification(slide) else None
