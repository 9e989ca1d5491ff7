"""A small view of a file's structure: reads go through windows that stay, so that neighbouring reads cost one request,
and of what is partly held only the rest is asked for. Every read is checked against the file's size before any byte is
asked for."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.coalescing import coalesce
from wsi.slide.ranges import ByteRange, Data, RangeSource

LEAST, MOST = 4_096, 32_768  #: bytes of a window
SMALL: Final = 131_072  #: bytes of a file that is asked for as a whole: its pixels cost less than four requests
KEPT: Final = 32_768  #: bytes of a read that stay; a longer array is read once: keeping it would double its memory
MAX_PREFETCH = 32 * 1024**2  #: bytes held at once by `prefetch`; 4,000,000 tiles of a classic TIFF

CUT_SHORT = "The file ends before its directory: the upload or copy was cut short."


def window(size: int) -> int:
    """Bytes that are asked for at a directory of a file of `size` bytes. Directory, description and JPEG tables take
    some 2 KB; the lists of a small level's tiles stand behind them and grow with the slide. Where a page is no level
    the rest comes in vain, and where a list is cut off it costs a request more."""
    return min(max(size >> 17, LEAST), MOST)


def ends(size: int) -> int:
    """Bytes at the file's head and at its tail, which are asked for together."""
    return size if size <= SMALL else 2 * window(size)


class Held:
    """Parts of a file that were read and stay."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []  #: (start, data), by start

    def add(self, start: int, data: bytes) -> None:
        insort(self._parts, (start, data), key=itemgetter(0))

    def rest(self, wanted: ByteRange) -> ByteRange:
        """`wanted` without what is held of its beginning and of its end; empty where all of it is."""
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

    def joined(self, wanted: ByteRange, rest: ByteRange, data: Data) -> Data:
        """All of `wanted`, of which `data` was asked for as its `rest`."""
        if rest == wanted:
            return data
        return b"".join((*self._between(wanted.start, rest.start), data, *self._between(rest.end, wanted.end)))

    def _between(self, start: int, end: int) -> Iterator[bytes]:
        """Of what is held without a gap."""
        for at, data in self._parts:
            if at <= start < min(at + len(data), end):
                yield data[start - at : end - at]
                start = at + len(data)


class Windows:
    """Raises SlideRejected TRUNCATED for a read past the end of the file, SourceError when the store fails."""

    def __init__(self, source: RangeSource) -> None:
        self._source = source
        self._held = Held()
        self.window = window(source.size)  #: bytes

    @property
    def size(self) -> int:
        return self._source.size

    def read(self, offset: int, size: int) -> bytes:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise SlideRejected(RejectReason.TRUNCATED, CUT_SHORT)
        wanted = ByteRange(offset, offset + size)
        rest = self._held.rest(wanted)
        if rest.size and size > KEPT:
            return bytes(self._held.joined(wanted, rest, self._source.read(rest)))
        if rest.size:
            asked = self._held.rest(ByteRange(rest.start, max(rest.end, min(rest.start + self.window, self.size))))
            self._held.add(asked.start, self._source.read(asked))
        return bytes(self._held.joined(wanted, ByteRange(offset, offset), b""))

    def prefetch(self, ranges: Sequence[ByteRange]) -> None:
        """Asks for what is to be read soon, all together and neighbours in one request. Ranges that lie past the end
        are left to `read`, which says so; without effect when they hold more than `MAX_PREFETCH` bytes."""
        inside = (part for part in ranges if 0 <= part.start <= part.end <= self.size)
        missing = [rest for rest in map(self._held.rest, inside) if rest.size]
        runs = [run.byte_range for run in coalesce(list(enumerate(missing)))]
        if sum(run.size for run in runs) > MAX_PREFETCH:
            return
        for run, data in zip(runs, self._source.read_many(runs), strict=True):
            self._held.add(run.start, bytes(data))


class PartsHeld:
    """A `RangeSource` that has parts of its object already, which are requested together. Raises SourceError."""

    def __init__(self, source: RangeSource, parts: Sequence[ByteRange]) -> None:
        self._source = source
        self._held = Held()
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
        rests = [self._held.rest(wanted) for wanted in ranges]
        asked = self._source.read_many([rest for rest in rests if rest.size])
        for wanted, rest in zip(ranges, rests, strict=True):
            yield self._held.joined(wanted, rest, next(asked) if rest.size else b"")


class EndsHeld(PartsHeld):
    """A source that has its object's head and tail: what a slide is and where its directories lie mostly stands
    there."""

    def __init__(self, source: RangeSource) -> None:
        size, side = source.size, ends(source.size)
        head = ByteRange(0, min(side, size))
        tail = ByteRange(max(head.end, size - side), size)
        super().__init__(source, [head, tail] if tail.size else [head])


class HeadHeld(PartsHeld):
    """A source that has the first `size` bytes of its object; none of an empty one are requested."""

    def __init__(self, source: RangeSource, size: int) -> None:
        super().__init__(source, [ByteRange(0, min(size, source.size))] if source.size else [])
