"""Objects (results, plans, thumbnails) and multipart uploads (slides, model packages)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

from wsi.records.slides import RestoreTier
from wsi.slide.ranges import ByteRange, RangeSource


class Objects(Protocol):
    """One bucket. Keys are ours; puts are atomic: a reader sees all of an object or nothing."""

    def put(self, key: str, data: bytes, *, media_type: str = "application/octet-stream") -> None: ...

    def put_file(self, key: str, path: Path, *, media_type: str) -> None: ...

    def get(self, key: str) -> bytes:
        """Return the object's bytes. Raises SourceMissing."""
        ...

    def delete_below(self, prefix: str) -> int:
        """Delete every object whose key begins with `prefix`, all versions of it; return their number."""
        ...

    def presign_download(self, key: str, *, filename: str, seconds: int) -> str:
        """Return the URL of a presigned GET whose response names the file."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadedPart:
    n: int  #: 1-based
    size: int  #: bytes
    sha256: str  #: hex
    etag: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredObject:
    size: int  #: bytes
    etag: str
    #: as S3 stores it: for a multipart object the composite, hex sha256 of its parts' digests and "-<parts>"; else hex
    #: sha256. None when the object was stored without one
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Readable:
    """The state of an object that is being restored."""

    now: bool
    until: datetime | None = None  #: when its copy is removed; None: it needs no copy, or has none yet


@dataclass(frozen=True, slots=True)
class ObjectLock:
    """The lock of an object's version: nobody can delete it."""

    until: datetime | None  #: end of its retention; None: a legal hold, which has no end of its own


class ObjectLocks(Protocol):
    """The locks of one bucket of ours that has S3 Object Lock."""

    def find_lock(self, *prefixes: str) -> ObjectLock | None:
        """Return the lock that lasts longest among all versions of the objects whose keys begin with one of `prefixes`,
        or None if each of them can be deleted now."""
        ...

    def set_legal_hold(self, *prefixes: str, held: bool) -> None:
        """Place or clear the legal hold of all versions of these objects. Idempotent."""
        ...


class ObjectHeads(Protocol):
    """The facts about the objects of one bucket of ours."""

    def make_uri(self, key: str) -> str:
        """Return "s3://<our bucket>/<key>"."""
        ...

    def head(self, uri: str) -> StoredObject:
        """Return the object's size, ETag and digest. Raises SourceMissing."""
        ...


class MultipartStore(ObjectHeads, Protocol):
    """One bucket of ours that files are uploaded into in parts."""

    def begin_upload(self, uri: str) -> str:
        """Begin a multipart upload with SHA-256 checksums; return its id."""
        ...

    def presign_part(self, uri: str, upload_id: str, *, n: int, size: int, sha256: str, seconds: int) -> str:
        """Return the URL of a presigned PUT (s3v4) that signs length and checksum. `sha256` is hex; S3 takes it as
        base64."""
        ...

    def list_parts(self, uri: str, upload_id: str) -> tuple[UploadedPart, ...]:
        """List the parts that S3 holds, by number. Raises SourceMissing if the upload is unknown (completed or
        aborted)."""
        ...

    def complete_upload(self, uri: str, upload_id: str, parts: Sequence[UploadedPart]) -> StoredObject:
        """Complete the upload and return its object. Idempotent: if the upload is gone and the object exists, return
        the object (F-44)."""
        ...

    def abort_upload(self, uri: str, upload_id: str) -> None:
        """Abort the upload. Idempotent."""
        ...

    def delete(self, uri: str) -> None:
        """Delete all versions of the object. Idempotent."""
        ...


class SlideStore(MultipartStore, Protocol):
    """The store of slides: multipart uploads into our bucket, and reading from a tenant's sources."""

    def look_up(self, uri: str, *, tenant: UUID) -> StoredObject:
        """Return the size, ETag and digest of an object in the tenant's sources. Raises SourceOutside for any other,
        ours too, without a request to the store; SourceMissing."""
        ...

    def check_readable(self, uri: str, *, tenant: UUID) -> None:
        """Raise SourceOutside if the object is neither an upload of the tenant nor in its sources. Sends nothing to the
        store."""
        ...

    def write_part(self, uri: str, upload_id: str, *, n: int, data: bytes) -> None:
        """Write a part. Raises SourceMissing if the upload is unknown (completed or aborted)."""
        ...

    def copy_part(
        self, uri: str, upload_id: str, *, n: int, source: str, etag: str, byte_range: ByteRange | None
    ) -> None:
        """Copy another of our objects into a part, or only its `byte_range`; S3 computes the checksum. Raises
        SourceMissing if the upload or the object is unknown, SourceChanged if the object no longer has `etag`."""
        ...

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
        """Open one object for range reads, pinned to `etag` when given (else to the version that answers first). It is
        an upload of the tenant or in its sources; without a tenant, any of ours. Raises SourceOutside, SourceMissing.
        """
        ...

    def delete_below(self, prefix: str) -> int:
        """Delete every object of our bucket whose key begins with `prefix`, all versions of it; return their number."""
        ...

    def archive(self, uri: str) -> None:
        """Mark the object for Deep Archive. The bucket's lifecycle moves it there within days; it cannot be read then.
        Idempotent. Raises SourceMissing."""
        ...

    def restore(self, uri: str, *, days: int, tier: RestoreTier) -> Readable:
        """Remove the mark. If the object has moved already, request a copy that can be read for `days`, unless one is
        on its way or lasts for at least half of them. Idempotent. Raises SourceMissing."""
        ...
