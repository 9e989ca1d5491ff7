"""An open slide: its reader, its digest and its examination, shared by every model that runs over it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from tessera.local_run.inputs import SlideInput
from tessera.local_run.sources import Sources
from wsi.inspection.examination import Examination, examine
from wsi.slide.files.scratch import OnCopy, ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_slide
from wsi.slide.ranges import ByteRange
from wsi.slide.reads import ReadCounter, attach_counter
from wsi.slide.slide import SlideReader


class SlideSession:
    """One slide while models run over it: opened, digested and examined once. For one thread."""

    def __init__(self, slide: SlideInput, sources: Sources) -> None:
        """Open the slide's files. Raises SourceError."""
        self.slide = slide
        self.reads = ReadCounter()  #: through `reader`
        self._sources = sources
        self._held = ExitStack()
        self._reader: SlideReader | None = None
        self._examination: Examination | None = None
        self.source: SlideSource = self._held.enter_context(sources.open(slide))

    @cached_property
    def digest(self) -> str:
        """The slide's digest; every byte of a slide on this disk is read for it."""
        return self._sources.compute_digest(self.slide, self.source)

    def get_reader(self, on_copy: OnCopy) -> SlideReader:
        """Return the reader, opened on the first call. `on_copy` follows the copy of a remote slide that only OpenSlide
        reads. Raises SlideRejected, SourceError."""
        if self._reader is None:
            counting = attach_counter(self.source, self.reads)
            scratch = ScratchSpace(on_copy=on_copy)
            self._reader = open_slide(counting, mpp=self.slide.mpp, choice=self.slide.choice, scratch=scratch)
            self._held.callback(self._reader.close)
        return self._reader

    def get_examination(self, on_copy: OnCopy) -> Examination:
        """Return the examination, made on the first call. Raises as `examine` does."""
        if self._examination is None:
            self._examination = examine(self.get_reader(on_copy))
        return self._examination

    def check_unchanged(self) -> None:
        """Raise SourceChanged if a file on this disk was written over since it was opened. OpenSlide does not read
        through the source; S3 answers for its own."""
        if not self.slide.is_remote:
            for _, file in self.source.files:
                file.read(ByteRange(0, 0))

    def close(self) -> None:
        self._held.close()


class SlideCache:
    """A cache that keeps the last slide open, since models run over a slide one after the other."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._last: SlideSession | None = None

    def open(self, slide: SlideInput) -> SlideSession:
        """Return the slide's session, opened unless it is the last one. Raises SourceError."""
        slide = replace(slide, name="")
        if self._last is None or self._last.slide != slide:
            self.close()
            self._last = SlideSession(slide, self._sources)
        return self._last

    def close(self) -> None:
        if self._last is not None:
            self._last.close()
            self._last = None
