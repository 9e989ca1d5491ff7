"""A small view of a file's structure. Reads go through windows that stay cached, so that neighbouring reads cost one
request, and only the rest of a partly cached range is requested. Every read is checked against the file's size before
any byte is requested."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.coalescing import coalesce
from wsi.slide.ranges import ByteRange, Data, RangeSource

LEAST, MOST = 4_096, 32_768  #: bytes of a window
SMALL: Final = 131_072  #: bytes of a file that is requested as a whole: its pixels cost less than four requests
KEPT: Final = 32_768  #: bytes of a read that is cached; a longer array is read once: caching it would double its memory
MAX_PREFETCH = 32 * 1024**2  #: bytes held at once by `prefetch`; 4,000,000 tiles of a classic TIFF

CUT_SHORT = "The file ends before its directory: the upload or copy was cut short."


def choose_window(size: int) -> int:
    """Return how many bytes to request at a directory of a file of `size` bytes. Directory, description and JPEG tables
    take some 2 KB; the lists of a small level's tiles follow them and grow with the slide. Where a page is no level the
    rest comes in vain, and where a list is cut off it costs a request more."""
    return min(max(size >> 17, LEAST), MOST)


def choose_end_size(size: int) -> int:
    """Return how many bytes at the file's head and at its tail are requested together."""
    return size if size <= SMALL else 2 * choose_window(size)


class CachedParts:
    """The cached parts of a file."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []  #: (start, data), by start

    def add(self, start: int, data: bytes) -> None:
        insort(self._parts, (start, data), key=itemgetter(0))

    def compute_rest(self, wanted: ByteRange) -> ByteRange:
        """Return `wanted` without its cached beginning and end; empty where all of it is cached."""
        start, end = wanted.start, wanted.end
        for at, data in self._parts:
            if at > start:
                break
            start = max(start, min(at + len(data), end))
        if start < end:
            for at, data in reversed(self._parts):
                if start <= at < end <= at + len(data):
                    end = at
        return ByteRange(start, end)

    def join(self, wanted: ByteRange, rest: ByteRange, data: Data) -> Data:
        """Return every requested range, combining cached bytes with `data`, which was requested as `compute_rest`
        returned it."""
        if rest == wanted:
            return data
        return b"".join((*self._between(wanted.start, rest.start), data, *self._between(rest.end, wanted.end)))

    def _between(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the cached bytes from `start` to `end`, which have no gap."""
        for at, data in self._parts:
            if at <= start < min(at + len(data), end):
                yield data[start - at : end - at]
                start = at + len(data)


class Windows:
    """A file that is read by windows. Raises SlideRejected TRUNCATED for a read past the end of the file, SourceError
    when the store fails."""

    def __init__(self, source: RangeSource) -> None:
        self._source = source
        self._held = CachedParts()
        self.window = choose_window(source.size)  #: bytes

    @property
    def size(self) -> int:
        return self._source.size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise SlideRejected(RejectReason.TRUNCATED, CUT_SHORT)
        wanted = ByteRange(offset, offset + size)
        rest = self._held.compute_rest(wanted)
        if rest.size and size > KEPT:
            return bytes(self._held.join(wanted, rest, self._source.read(rest)))
        if rest.size:
            asked = self._held.compute_rest(
                ByteRange(rest.start, max(rest.end, min(rest.start + self.window, self.size)))
            )
            self._held.add(asked.start, self._source.read(asked))
        return bytes(self._held.join(wanted, ByteRange(offset, offset), b""))

    def prefetch(self, ranges: Sequence[ByteRange]) -> None:
        """Request what will be read soon, all together and neighbours in one request. Ranges past the end are left to
        `read`, which reports them. Does nothing when the ranges hold more than `MAX_PREFETCH` bytes."""
        inside = (part for part in ranges if 0 <= part.start <= part.end <= self.size)
        missing = [rest for rest in map(self._held.compute_rest, inside) if rest.size]
        runs = [run.byte_range for run in coalesce(list(enumerate(missing)))]
        if sum(run.size for run in runs) > MAX_PREFETCH:
            return
        for run, data in zip(runs, self._source.read_many(runs), strict=True):
            self._held.add(run.start, bytes(data))


class CachedPartsSource:
    """A `RangeSource` with cached parts of its object, which are requested together. Raises SourceError."""

    def __init__(self, source: RangeSource, parts: Sequence[ByteRange]) -> None:
        self._source = source
        self._held = CachedParts()
        runs = [run.byte_range for run in coalesce(list(enumerate(parts)))] if len(parts) > 1 else parts
        for run, data in zip(runs, source.read_many(runs), strict=True):
            self._held.add(run.start, bytes(data))

    @property
    def size(self) -> int:
        return self._source.size

    @property
    def etag(self) -> str:
        return self._source.etag

    def read(self, byte_range: ByteRange) -> bytes:
        return bytes(next(self.read_many([byte_range])))

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        rests = [self._held.compute_rest(wanted) for wanted in ranges]
        asked = self._source.read_many([rest for rest in rests if rest.size])
        for wanted, rest in zip(ranges, rests, strict=True):
            yield self._held.join(wanted, rest, next(asked) if rest.size else b"")


class CachedEndsSource(CachedPartsSource):
    """A source with its object's head and tail cached: what a slide is and where its directories lie is mostly
    there."""

    def __init__(self, source: RangeSource) -> None:
        size, side = source.size, choose_end_size(source.size)
        head = ByteRange(0, min(side, size))
        tail = ByteRange(max(head.end, size - side), size)
        super().__init__(source, [head, tail] if tail.size else [head])


class CachedHeadSource(CachedPartsSource):
    """A source with the first `size` bytes of its object cached; none of an empty one are requested."""

    def __init__(self, source: RangeSource, size: int) -> None:
        super().__init__(source, [ByteRange(0, min(size, source.size))] if source.size else [])
