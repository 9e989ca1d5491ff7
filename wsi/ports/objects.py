"""Objects (results, plans, thumbnails) and multipart uploads (slides)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from wsi.records.slides import RestoreTier
from wsi.slide.ranges import ByteRange, RangeSource


class Objects(Protocol):
    """One bucket. Keys are ours; puts are atomic: a reader sees all of an object or nothing."""

    def put(self, key: str, data: bytes, *, media_type: str = "application/octet-stream") -> None: ...

    def put_file(self, key: str, path: Path, *, media_type: str) -> None: ...

    def get(self, key: str) -> bytes:
        """Raises SourceMissing."""
        ...

    def delete_below(self, prefix: str) -> int:
        """Deletes every object whose key begins with `prefix`, all versions of it; returns how many."""
        ...

    def link(self, key: str, *, filename: str, seconds: int) -> str:
        """A presigned GET whose response names the file."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPart:
    n: int  #: 1-based
    size: int  #: bytes
    sha256: str  #: hex
    etag: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredObject:
    size: int  #: bytes
    etag: str
    #: what S3 keeps: of a multipart object the composite, hex sha256 of its parts' digests and "-<parts>"; of another
    #: hex sha256. None when the object was stored without one
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Readable:
    """How an object stands that is wanted back."""

    now: bool
    until: datetime | None = None  #: when its copy is removed; None: it needs no copy, or has none yet


class SlideStore(Protocol):
    """Where slides lie: multipart uploads into our bucket, and reading from any allow-listed one."""

    def uri(self, key: str) -> str:
        """ "s3://<our bucket>/<key>"."""
        ...

    def begin_upload(self, uri: str) -> str:
        """Opens a multipart upload with SHA-256 checksums; returns its id."""
        ...

    def part_url(self, uri: str, upload_id: str, *, n: int, size: int, sha256: str, seconds: int) -> str:
        """A presigned PUT (s3v4) that signs length and checksum. `sha256` is hex; S3 wants it as base64."""
        ...

    def write_part(self, uri: str, upload_id: str, *, n: int, data: bytes) -> None:
        """Raises SourceMissing when the upload is unknown (completed or aborted)."""
        ...

    def copy_part(
        self, uri: str, upload_id: str, *, n: int, source: str, etag: str, byte_range: ByteRange | None
    ) -> None:
        """The part is what lies in another of our objects, whole when `byte_range` is None; S3 computes its checksum.
        Raises SourceMissing when upload or object are unknown, SourceChanged."""
        ...

    def parts(self, uri: str, upload_id: str) -> tuple[StoredPart, ...]:
        """What S3 holds, by number. Raises SourceMissing when the upload is unknown (completed or aborted)."""
        ...

    def complete_upload(self, uri: str, upload_id: str, parts: Sequence[StoredPart]) -> StoredObject:
        """Idempotent: when the upload is gone and the object stands, the object is the answer (F-44)."""
        ...

    def abort_upload(self, uri: str, upload_id: str) -> None:
        """Idempotent."""
        ...

    def head(self, uri: str) -> StoredObject:
        """Raises SourceMissing."""
        ...

    def open(self, uri: str, *, etag: str | None = None) -> RangeSource:
        """Range reads of one object, pinned to `etag` when given (else to the one that answers first)."""
        ...

    def delete(self, uri: str) -> None:
        """All versions. Idempotent."""
        ...

    def archive(self, uri: str) -> None:
        """Marks the object for Deep Archive, where the bucket's lifecycle moves it within days; there it can not be
        read. Idempotent. Raises SourceMissing."""
        ...

    def restore(self, uri: str, *, days: int, tier: RestoreTier) -> Readable:
        """Takes the mark away. If the object has moved already, asks for a copy that can be read for `days`, unless
        one is on its way or stays for half of them yet. Idempotent. Raises SourceMissing."""
        ...
