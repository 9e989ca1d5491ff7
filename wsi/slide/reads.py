"""The counts of a slide's range requests and bytes, taken where they are requested."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange, Data, RangeSource


@dataclass(slots=True)
class ReadCounter:
    """The requests and bytes that were read of a slide, from any thread. OpenSlide's reads of a local file are not
    counted."""

    requests: int = 0  #: of S3, GETs; tries that failed do not count
    bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, size: int) -> None:
        with self._lock:
            self.requests += 1
            self.bytes += size


class CountedSource:
    """A `RangeSource` that counts what is read of another one."""

    def __init__(self, source: RangeSource, reads: ReadCounter) -> None:
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


def attach_counter(source: SlideSource, reads: ReadCounter) -> SlideSource:
    return replace(source, files=tuple((name, CountedSource(file, reads)) for name, file in source.files))
