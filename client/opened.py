"""A slide that is open: read, named by its digest and examined once, for every model that is run over it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from client.inputs import SlideInput
from client.sources import Sources
from wsi.examination import Examination, examine
from wsi.slide.opening import open_slide
from wsi.slide.ranges import ByteRange
from wsi.slide.reads import Reads, counted
from wsi.slide.scratch import OnCopy
from wsi.slide.slide import SlideReader
from wsi.slide.source import SlideSource


class OpenedSlide:
    """For one thread."""

    def __init__(self, slide: SlideInput, sources: Sources) -> None:
        """Raises SourceError."""
        self.slide = slide
        self.reads = Reads()  #: through `reader`
        self._sources = sources
        self._held = ExitStack()
        self._reader: SlideReader | None = None
        self._examination: Examination | None = None
        self.source: SlideSource = self._held.enter_context(sources.opened(slide))

    @cached_property
    def digest(self) -> str:
        """Of a slide on this disk every byte is read for it."""
        return self._sources.digest(self.slide, self.source)

    def reader(self, on_copy: OnCopy) -> SlideReader:
        """`on_copy` follows the copy of a remote slide that only OpenSlide reads. Raises SlideRejected, SourceError."""
        if self._reader is None:
            counting = counted(self.source, self.reads)
            self._reader = open_slide(counting, mpp=self.slide.mpp, choice=self.slide.choice, on_copy=on_copy)
            self._held.callback(self._reader.close)
        return self._reader

    def examination(self, on_copy: OnCopy) -> Examination:
        """As `examine`."""
        if self._examination is None:
            self._examination = examine(self.reader(on_copy))
        return self._examination

    def check_unchanged(self) -> None:
        """Raises SourceChanged when a file on this disk was written over since it was opened. OpenSlide reads past the
        source; S3 answers for its own."""
        if not self.slide.is_remote:
            for _, file in self.source.files:
                file.read(ByteRange(0, 0))

    def close(self) -> None:
        self._held.close()


class OpenSlides:
    """The last one stays open: models run over a slide one behind the other."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._last: OpenedSlide | None = None

    def open(self, slide: SlideInput) -> OpenedSlide:
        """Raises SourceError."""
        slide = replace(slide, name="")
        if self._last is None or self._last.slide != slide:
            self.close()
            self._last = OpenedSlide(slide, self._sources)
        return self._last

    def close(self) -> None:
        if self._last is not None:
            self._last.close()
            self._last = None
