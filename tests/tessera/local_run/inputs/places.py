"""Folders of small files, and a bucket in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tessera.local_run.inputs import Found, LeftOutReason
from tessera.local_run.inputs.listing import FileEntry
from wsi.slide.ranges import ByteRange, Data, RangeSource

TIFF = b"II*\0"


def write(folder: Path, *names: str, head: bytes = b"") -> None:
    """Write files that begin with `head` and are all different."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(head + name.encode())


def names(found: Found) -> list[str]:
    return [slide.name for slide in found.slides]


def left_out(found: Found, root: Path) -> dict[str, LeftOutReason]:
    return {one.location.removeprefix(f"{root}/"): one.reason for one in found.left_out}


class Bucket:
    """`tessera.local_run.inputs.listing.Remote` of objects in memory, which counts what is asked of it."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        self.objects = objects
        self.listings: list[str] = []
        self.reads: list[str] = []

    def list_entries(self, prefix: str, *, below: bool = True) -> Sequence[FileEntry]:
        self.listings.append(prefix)
        return [
            FileEntry(location=url, size=len(data), stamp=str(hash(data)), real=url)
            for url, data in sorted(self.objects.items())
            if url.startswith(prefix) and (below or "/" not in url[len(prefix) :])
        ]

    def open_source(self, entry: FileEntry) -> RangeSource:
        return _Object(self, entry.location)


class _Object:
    etag = ""

    def __init__(self, bucket: Bucket, url: str) -> None:
        self._bucket = bucket
        self._url = url

    @property
    def size(self) -> int:
        return len(self._bucket.objects[self._url])

    def read(self, byte_range: ByteRange) -> bytes:
        self._bucket.reads.append(self._url)
        return self._bucket.objects[self._url][byte_range.start : byte_range.end]

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        return map(self.read, ranges)
