"""`wsi.ports.objects.SlideStore` on S3: multipart uploads into our bucket, reading from tenants' sources too."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from botocore.exceptions import ClientError

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import read_code, translate_refusals
from adapters.s3.source_sessions import Signer, SourceSessions
from adapters.s3.versions import delete_versions
from adapters.settings.objects import ARCHIVED
from adapters.settings.reads import ReadLimits
from wsi import keys
from wsi.errors import Forbidden, SourceChanged, SourceMissing
from wsi.ports.objects import Readable, StoredObject, UploadedPart
from wsi.records.slides import RestoreTier
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.sources.source import Source, find_source, make_outside_error

if TYPE_CHECKING:
    from adapters.s3.ranges import RangeReads


#: Storage classes that can be read only by a copy; Instant Retrieval ("GLACIER_IR") is not among them.
CLASSES_TO_RESTORE = ("GLACIER", "DEEP_ARCHIVE")
_EXPIRY = re.compile(r'expiry-date="([^"]+)"')


def _hex(base64_digest: str) -> str:
    return base64.b64decode(base64_digest).hex()


def _composite(digest: str) -> str:
    """Convert the digest of a multipart object: S3 writes base64 and "-<parts>", we write hex."""
    whole, dash, parts = digest.partition("-")
    return _hex(whole) + dash + parts


def _base64(hex_digest: str) -> str:
    return base64.b64encode(bytes.fromhex(hex_digest)).decode()


def _bare(etag: str) -> str:
    return etag.strip('"')


class S3SlideStore:
    """The slides in one bucket of ours, and those in the sources of their tenants, which `list_sources` knows. A source
    counts within the `allowed_buckets` of the installation alone, and is read in a session of `source_role`. Methods
    that write raise Forbidden for any bucket but ours: what a customer registered by reference is theirs."""

    def __init__(
        self,
        clients: AwsClients,
        bucket: str,
        allowed_buckets: Collection[str] = (),
        limits: ReadLimits | None = None,
        *,
        list_sources: Callable[[UUID], Sequence[Source]] | None = None,
        source_role: str | None = None,
    ) -> None:
        self._clients = clients
        self._limits = limits
        self._bucket = bucket
        self._allowed = frozenset(allowed_buckets) - {bucket}
        self._list_sources = list_sources
        self._sessions = SourceSessions(clients, source_role)
        self._reads: RangeReads | None = None
        self._lock = threading.Lock()

    def make_uri(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    def begin_upload(self, uri: str) -> str:
        # Without the algorithm here S3 refuses part checksums: "expected checksum Type: null" (F-40).
        with translate_refusals():
            answer = self._clients.s3.create_multipart_upload(**self._ours(uri), ChecksumAlgorithm="SHA256")
        return answer["UploadId"]

    def presign_part(self, uri: str, upload_id: str, *, n: int, size: int, sha256: str, seconds: int) -> str:
        params = {"UploadId": upload_id, "PartNumber": n, "ContentLength": size, "ChecksumSHA256": _base64(sha256)}
        return self._clients.s3.generate_presigned_url(
            "upload_part", Params={**self._ours(uri), **params}, ExpiresIn=seconds
        )

    def write_part(self, uri: str, upload_id: str, *, n: int, data: bytes) -> None:
        checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
        with translate_refusals():
            self._clients.s3.upload_part(
                **self._ours(uri), UploadId=upload_id, PartNumber=n, Body=data, ChecksumSHA256=checksum
            )

    def copy_part(
        self, uri: str, upload_id: str, *, n: int, source: str, etag: str, byte_range: ByteRange | None
    ) -> None:
        # S3 copies no range of an object of 5 MB or less, not even all of it.
        part = {"CopySourceRange": f"bytes={byte_range.start}-{byte_range.end - 1}"} if byte_range else {}
        with translate_refusals():
            try:
                self._clients.s3.upload_part_copy(
                    **self._ours(uri),
                    UploadId=upload_id,
                    PartNumber=n,
                    CopySource=self._ours(source),
                    CopySourceIfMatch=f'"{etag}"',
                    **part,
                )
            except ClientError as error:
                if read_code(error) == "PreconditionFailed":
                    raise SourceChanged("The slide was replaced after it was accepted; upload it again.") from error
                raise

    def list_parts(self, uri: str, upload_id: str) -> tuple[UploadedPart, ...]:
        pages = self._clients.s3.get_paginator("list_parts").paginate(**self._ours(uri), UploadId=upload_id)
        with translate_refusals():
            return tuple(
                UploadedPart(
                    n=part["PartNumber"],
                    size=part["Size"],
                    sha256=_hex(part["ChecksumSHA256"]),
                    etag=_bare(part["ETag"]),
                )
                for page in pages
                for part in page.get("Parts", [])
            )

    def complete_upload(self, uri: str, upload_id: str, parts: Sequence[UploadedPart]) -> StoredObject:
        listed = [
            {"PartNumber": part.n, "ETag": f'"{part.etag}"', "ChecksumSHA256": _base64(part.sha256)} for part in parts
        ]
        with translate_refusals():
            try:
                self._clients.s3.complete_multipart_upload(
                    **self._ours(uri), UploadId=upload_id, MultipartUpload={"Parts": listed}
                )
            except ClientError as error:
                # A browser that lost the first answer tries again (F-44): the object below is the answer then.
                if read_code(error) != "NoSuchUpload":
                    raise
        return self.head(uri)

    def abort_upload(self, uri: str, upload_id: str) -> None:
        with translate_refusals():
            try:
                self._clients.s3.abort_multipart_upload(**self._ours(uri), UploadId=upload_id)
            except ClientError as error:
                if read_code(error) != "NoSuchUpload":
                    raise

    def head(self, uri: str) -> StoredObject:
        return _head(self._clients, self._ours(uri))

    def look_up(self, uri: str, *, tenant: UUID) -> StoredObject:
        return _head(self._get_signer(uri, tenant), _parse(uri))

    def check_readable(self, uri: str, *, tenant: UUID) -> None:
        target = _parse(uri)
        if target["Bucket"] != self._bucket:
            self._find_source(uri, tenant)
        elif not target["Key"].startswith(keys.make_tenant_folder(tenant)):
            raise make_outside_error()

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> RangeSource:
        """Open the object for range reads. Raises SourceOutside, SourceMissing, or SourceChanged if its version is not
        the one that `etag` names."""
        target = _parse(uri)
        if target["Bucket"] != self._bucket:
            signer = self._get_signer(uri, tenant)
        else:
            signer = self._clients
            if tenant is not None:
                self.check_readable(uri, tenant=tenant)
        return self._open(target, _head(signer, target), etag, signer)

    def open_listed(self, uri: str, stored: StoredObject) -> RangeSource:
        """Return the range source of an object of ours that a listing described. Sends nothing."""
        return self._open(self._ours(uri), stored, None, self._clients)

    def _open(self, target: dict[str, Any], stored: StoredObject, etag: str | None, signer: Signer) -> RangeSource:
        # obstore is in the assets that read slides, not in the API's.
        from adapters.s3.ranges import RangeReads, S3RangeSource

        with self._lock:
            if self._reads is None:
                self._reads = RangeReads(self._clients, self._limits)
        return S3RangeSource(self._reads, target["Bucket"], target["Key"], stored, signer=signer, expected_etag=etag)

    def delete(self, uri: str) -> None:
        target = self._ours(uri)
        delete_versions(self._clients, target["Bucket"], target["Key"], lambda key: key == target["Key"])

    def delete_below(self, prefix: str) -> int:
        return delete_versions(self._clients, self._bucket, prefix, lambda key: True)

    def archive(self, uri: str) -> None:
        tag, value = ARCHIVED
        with translate_refusals():
            self._clients.s3.put_object_tagging(**self._ours(uri), Tagging={"TagSet": [{"Key": tag, "Value": value}]})

    def restore(self, uri: str, *, days: int, tier: RestoreTier) -> Readable:
        target = self._ours(uri)
        with translate_refusals():
            self._clients.s3.delete_object_tagging(**target)
            stored = self._clients.s3.head_object(**target)  # without its checksum, which would need a right on the key
            if stored.get("StorageClass") not in CLASSES_TO_RESTORE:
                return Readable(now=True)
            # 'ongoing-request="true"', or 'ongoing-request="false", expiry-date="Fri, 21 Dec 2012 00:00:00 GMT"'
            copy = stored.get("Restore", "")
            expiry = _EXPIRY.search(copy)
            if copy and expiry is None:
                return Readable(now=False)
            until = parsedate_to_datetime(expiry[1]) if expiry else None
            if until is not None and until - datetime.now(UTC) >= timedelta(days=days) / 2:
                return Readable(now=True, until=until)
            self._ask_for_copy(target, days, tier)
            return Readable(now=False)

    def _ask_for_copy(self, target: dict[str, Any], days: int, tier: RestoreTier) -> None:
        """Ask for a restored copy. If one exists, S3 only extends its time, at once and without another restore."""
        request = {"Days": days, "GlacierJobParameters": {"Tier": tier.value.title()}}
        try:
            self._clients.s3.restore_object(**target, RestoreRequest=request)
        except ClientError as error:
            if read_code(error) != "RestoreAlreadyInProgress":  # somebody else just asked
                raise

    def _get_signer(self, uri: str, tenant: UUID | None) -> Signer:
        """Return who may read a customer's object for the tenant. Raises SourceOutside."""
        if tenant is None:
            raise make_outside_error()
        return self._sessions.get_signer(tenant, self._find_source(uri, tenant))

    def _find_source(self, uri: str, tenant: UUID) -> Source:
        """Return the source of the tenant that covers a customer's object. Asks the database alone, and for every
        address, so that how long it takes tells nothing either. Raises SourceOutside."""
        sources = self._list_sources(tenant) if self._list_sources is not None else ()
        return find_source((one for one in sources if one.bucket in self._allowed), uri)

    def _ours(self, uri: str) -> dict[str, Any]:
        target = _parse(uri)
        if target["Bucket"] != self._bucket:
            raise Forbidden("Files that were registered by reference are never written or deleted by us.")
        return target


def _parse(uri: str) -> dict[str, Any]:
    bucket, separator, key = uri.removeprefix("s3://").partition("/")
    if not uri.startswith("s3://") or not separator or not key:
        raise SourceMissing("The address must read s3://bucket/key.")
    return {"Bucket": bucket, "Key": key}


def _head(signer: Signer, target: dict[str, Any]) -> StoredObject:
    with translate_refusals():
        answer = signer.s3.head_object(**target, ChecksumMode="ENABLED")
    digest = answer.get("ChecksumSHA256")
    return StoredObject(
        size=answer["ContentLength"], etag=_bare(answer["ETag"]), sha256=_composite(digest) if digest else None
    )
