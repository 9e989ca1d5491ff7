"""How much of a slide was read: range requests and bytes, counted where they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from wsi.slide.ranges import ByteRange, Data, RangeSource
from wsi.slide.source import SlideSource


@dataclass(slots=True)
class Reads:
    """Grows while the slide is read, from any thread. What OpenSlide reads of a local file passes by."""

    requests: int = 0  #: of S3, GETs; tries that failed do not count
    bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, size: int) -> None:
        with self._lock:
            self.requests += 1
            self.bytes += size


class CountedSource:
    """A `RangeSource` that counts what is read of another one."""

    def __init__(self, source: RangeSource, reads: Reads) -> None:
        self._source = source
        self._reads = reads

    @property
    def size(self) -> int:
        return self._source.size

    @property
    def etag(self) -> str:
        return self._source.etag

    def read(self, byte_range: ByteRange) -> bytes:
        data = self._source.read(byte_range)
        self._reads.add(len(data))
        return data

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        for data in self._source.read_many(ranges):
            self._reads.add(len(data))
            yield data


def counted(source: SlideSource, reads: Reads) -> SlideSource:
    return replace(source, files=tuple((name, CountedSource(file, reads)) for name, file in source.files))
