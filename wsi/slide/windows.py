"""A small view of a file's structure: reads go through windows that stay, so that neighbouring reads cost one
request. Every read is checked against the file's size before any byte is asked for."""

from __future__ import annotations

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.ranges import ByteRange, RangeSource

WINDOW = 65_536  #: bytes; one request at an SVS directory brings the directory, its description and its tables

CUT_SHORT = "The file ends before its directory: the upload or copy was cut short."


class Windows:
    """Raises SlideRejected TRUNCATED for a read past the end of the file, SourceError when the store fails."""

    def __init__(self, source: RangeSource) -> None:
        self._source = source
        self._windows: list[tuple[int, bytes]] = []

    @property
    def size(self) -> int:
        return self._source.size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self._source.size:
            raise SlideRejected(RejectReason.TRUNCATED, CUT_SHORT)
        for start, data in self._windows:
            if start <= offset and offset + size <= start + len(data):
                return data[offset - start : offset - start + size]
        end = min(max(offset + size, offset + WINDOW), self._source.size)
        if size > WINDOW:  # A long array is read once: keeping it would only double its memory.
            return self._source.read(ByteRange(offset, offset + size))
        data = self._source.read(ByteRange(offset, end))
        self._windows.append((offset, data))
        return data[:size]
