"""A DICOM file read from front to back: its parts follow each other and do not say beforehand where they lie."""

from __future__ import annotations

from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import make_damaged_error

HEAD: Final = 65_536  #: bytes; the header of a level with the offsets of 10,000 tiles
MAX_VALUE: Final = 64 * 1024**2  #: bytes of one value; offsets and lengths of 8,000,000 tiles
_MAX_WINDOW: Final = 16 * 1024**2  #: bytes; over 20 ms latency 1 GB is walked in about 60 rounds
_REQUEST: Final = 1024**2

_CUT_SHORT: Final = "A DICOM file of the slide ends before its pixels: the upload or copy was cut short."


def make_truncated_error() -> SlideRejected:
    return SlideRejected(RejectReason.TRUNCATED, _CUT_SHORT)


class BufferedRangeReader:
    """A reader with one window that moves on with the reads, and doubles as long as they follow each other. `head` are
    the first bytes of the file. Raises SlideRejected TRUNCATED for a read past the end, SourceError."""

    def __init__(self, source: RangeSource, head: bytes) -> None:
        self._source = source
        self._start = 0
        self._held = head
        self.fetched = len(head)  #: bytes that were requested in all

    @property
    def size(self) -> int:
        return self._source.size

    def read(self, at: int, size: int) -> bytes:
        start = at - self._start
        if start < 0 or start + size > len(self._held):
            self._fetch(at, size)
            start = 0
        return self._held[start : start + size]

    def _fetch(self, at: int, size: int) -> None:
        if at < 0 or size < 0 or at + size > self.size:
            raise make_truncated_error()
        if size > MAX_VALUE:
            raise make_damaged_error(f"A value in the slide's DICOM files claims {size:,} bytes.")
        beyond = at - self._start - len(self._held)
        follows = -len(self._held) <= beyond <= len(self._held)
        window = min(2 * len(self._held), _MAX_WINDOW) if follows else HEAD
        # What follows a long table is read next; the frames after it are not.
        end = min(at + (size + HEAD if size > HEAD else max(window, HEAD)), self.size)
        parts = [ByteRange(part, min(part + _REQUEST, end)) for part in range(at, end, _REQUEST)]
        self._held = b"".join(self._source.read_many(parts)) if len(parts) > 1 else self._source.read(parts[0])
        self._start = at
        self.fetched += end - at
