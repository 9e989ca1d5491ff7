"""`wsi.ports.objects.SlideStore` in memory, with `put_part` in place of the browser's PUT and `move_archived` in place
of the bucket's lifecycle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID

from tests.fakes.ranges import MemoryRangeSource
from wsi import keys
from wsi.digests import compute_composite_digest
from wsi.errors import Forbidden, Invalid, SourceChanged, SourceMissing
from wsi.ports.objects import Readable, StoredObject, UploadedPart
from wsi.records.slides import RestoreTier
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.sources.source import Source, find_source, make_outside_error


@dataclass
class _Upload:
    uri: str
    parts: dict[int, bytes] = field(default_factory=dict[int, bytes])


@dataclass(frozen=True, slots=True)
class _Copy:
    """By which an object in the archive can be read."""

    since: datetime
    until: datetime


class MemorySlideStore:
    """Objects by URI. The ETag is the MD5 of the bytes."""

    def __init__(
        self,
        bucket: str = "tessera-slides",
        allowed_buckets: Collection[str] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        list_sources: Callable[[UUID], Sequence[Source]] = lambda _: (),
    ) -> None:
        self._bucket = bucket
        self._allowed = frozenset(allowed_buckets) - {bucket}
        self._list_sources = list_sources
        self.looked_at: list[str] = []  #: whose heads were asked for
        self._objects: dict[str, bytes] = {}
        self._digests: dict[str, str] = {}  # composite, of what was uploaded in parts
        self._uploads: dict[str, _Upload] = {}
        self._begun = 0
        self._clock = clock
        self.marked: set[str] = set()  #: for the archive
        self._archived: dict[str, _Copy | None] = {}

    def make_uri(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    @property
    def held(self) -> frozenset[str]:
        """Where objects lie."""
        return frozenset(self._objects)

    @property
    def uploading(self) -> frozenset[str]:
        """Where uploads that have parts are to lead."""
        return frozenset(upload.uri for upload in self._uploads.values() if upload.parts)

    def put_object(self, uri: str, data: bytes) -> None:
        """What an upload leaves behind, or a customer's own object in an allow-listed bucket."""
        self._objects[uri] = data
        self._digests.pop(uri, None)
        self._archived.pop(uri, None)

    def begin_upload(self, uri: str) -> str:
        self._check_ours(uri)
        self._begun += 1
        upload_id = f"upload-{self._begun}"
        self._uploads[upload_id] = _Upload(uri)
        return upload_id

    def presign_part(self, uri: str, upload_id: str, *, n: int, size: int, sha256: str, seconds: int) -> str:
        self._check_ours(uri)
        signed = {"upload_id": upload_id, "n": n, "size": size, "sha256": sha256, "seconds": seconds}
        return f"memory://parts/?{urlencode(signed)}"

    def put_part(self, url: str, data: bytes) -> None:
        """Raises Forbidden when length or checksum are not those that the URL signs, as S3 answers 403 and 400."""
        signed = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        if len(data) != int(signed["size"]) or hashlib.sha256(data).hexdigest() != signed["sha256"]:
            raise Forbidden("The bytes are not those that the URL was made for.")
        self._upload(signed["upload_id"]).parts[int(signed["n"])] = data

    def write_part(self, uri: str, upload_id: str, *, n: int, data: bytes) -> None:
        self._check_ours(uri)
        self._upload(upload_id).parts[n] = data

    def copy_part(
        self, uri: str, upload_id: str, *, n: int, source: str, etag: str, byte_range: ByteRange | None
    ) -> None:
        self._check_ours(source)
        held = self.open(source, etag=etag)
        self.write_part(uri, upload_id, n=n, data=held.read(byte_range or ByteRange(0, held.size)))

    def list_parts(self, uri: str, upload_id: str) -> tuple[UploadedPart, ...]:
        self._check_ours(uri)
        return tuple(_stored(n, data) for n, data in sorted(self._upload(upload_id).parts.items()))

    def complete_upload(self, uri: str, upload_id: str, parts: Sequence[UploadedPart]) -> StoredObject:
        self._check_ours(uri)
        if upload_id in self._uploads:
            held = self._uploads[upload_id].parts
            if not parts or any(part.n not in held or _stored(part.n, held[part.n]) != part for part in parts):
                raise Invalid("The parts stored do not make up the file that was declared.")
            self._objects[uri] = b"".join(held[part.n] for part in parts)
            self._digests[uri] = compute_composite_digest([part.sha256 for part in parts])
            del self._uploads[upload_id]
        return self.head(uri)

    def abort_upload(self, uri: str, upload_id: str) -> None:
        self._check_ours(uri)
        self._uploads.pop(upload_id, None)

    def head(self, uri: str) -> StoredObject:
        self._check_ours(uri)
        return self._head(uri)

    def look_up(self, uri: str, *, tenant: UUID) -> StoredObject:
        self._check_source(uri, tenant)
        return self._head(uri)

    def check_readable(self, uri: str, *, tenant: UUID | None) -> None:
        if self._parse(uri) != self._bucket:
            self._check_source(uri, tenant)
        elif tenant is not None and not uri.startswith(self.make_uri(keys.make_tenant_folder(tenant))):
            raise make_outside_error()

    def _head(self, uri: str) -> StoredObject:
        self.looked_at.append(uri)
        held = self._current(uri)
        if held is None:
            raise SourceMissing("The object does not exist.")
        return StoredObject(size=len(held[0]), etag=held[1], sha256=self._digests.get(uri))

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
        self.check_readable(uri, tenant=tenant)
        source = MemoryRangeSource(lambda: self._current(uri) if self._can_be_read(uri) else None)
        if etag is not None and etag.strip('"') != source.etag:
            raise SourceChanged("The slide was replaced after it was accepted; upload or register it again.")
        return source

    def delete(self, uri: str) -> None:
        self._check_ours(uri)
        self._objects.pop(uri, None)
        self.marked.discard(uri)
        self._archived.pop(uri, None)

    def delete_below(self, prefix: str) -> int:
        doomed = [uri for uri in self._objects if uri.startswith(self.make_uri(prefix))]
        for uri in doomed:
            self.delete(uri)
        return len(doomed)

    def archive(self, uri: str) -> None:
        self._check_ours(uri)
        self.head(uri)
        self.marked.add(uri)

    def restore(self, uri: str, *, days: int, tier: RestoreTier) -> Readable:
        self._check_ours(uri)
        self.head(uri)
        self.marked.discard(uri)
        if uri not in self._archived:
            return Readable(now=True)
        now, copy = self._clock(), self._archived[uri]
        if copy is not None and now < copy.since:
            return Readable(now=False)
        if copy is not None and copy.until - now >= timedelta(days=days) / 2:
            return Readable(now=True, until=copy.until)
        since = copy.since if copy is not None and now < copy.until else now + timedelta(hours=tier.hours)
        self._archived[uri] = _Copy(since, until=max(since, now) + timedelta(days=days))
        return Readable(now=False)

    def move_archived(self) -> None:
        """What S3 does within days: objects that are marked cannot be read any more."""
        for uri in self.marked - self._archived.keys():
            self._archived[uri] = None

    def _can_be_read(self, uri: str) -> bool:
        copy = self._archived.get(uri)
        return uri not in self._archived or (copy is not None and copy.since <= self._clock() < copy.until)

    def _current(self, uri: str) -> tuple[bytes, str] | None:
        data = self._objects.get(uri)
        return None if data is None else (data, _etag(data))

    def _upload(self, upload_id: str) -> _Upload:
        try:
            return self._uploads[upload_id]
        except KeyError as error:
            raise SourceMissing("The upload was completed or aborted.") from error

    def _check_source(self, uri: str, tenant: UUID | None) -> None:
        self._parse(uri)
        if tenant is None:
            raise make_outside_error()
        find_source((one for one in self._list_sources(tenant) if one.bucket in self._allowed), uri)

    def _check_ours(self, uri: str) -> None:
        if self._parse(uri) != self._bucket:
            raise Forbidden("Files that were registered by reference are never written or deleted by us.")

    def _parse(self, uri: str) -> str:
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        if not uri.startswith("s3://") or not key:
            raise SourceMissing("The address must read s3://bucket/key.")
        return bucket


def _etag(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _stored(n: int, data: bytes) -> UploadedPart:
    return UploadedPart(n=n, size=len(data), sha256=hashlib.sha256(data).hexdigest(), etag=_etag(data))
