"""Files that a client sends straight to a bucket in presigned parts: granted, listed, assembled.

The client never names a key or an upload id, and never lists its parts: only the parts that S3 says it holds count.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from wsi.concurrency import map_concurrently
from wsi.digests import compute_composite_digest
from wsi.errors import Conflict, Invalid, SourceMissing
from wsi.ports.objects import MultipartStore, StoredObject, UploadedPart
from wsi.uploads.rules import MAX_PARTS_A_CALL, PartAsked, check_part, check_whole, compute_part_size, count_parts

URL_SECONDS = 15 * 60


class SentFile(Protocol):
    """A file that is sent in parts."""

    @property
    def uri(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def upload_id(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PartGranted:
    file: int
    n: int
    url: str  #: a presigned PUT. A secret: never logged
    headers: Mapping[str, str]  #: signed with the URL; the PUT must carry them


@dataclass(frozen=True, kw_only=True, slots=True)
class PartHeld:
    """A part that S3 holds."""

    file: int
    n: int
    size: int
    sha256: str | None  #: hex; None when its file is already whole


def grant(files: Sequence[SentFile], parts: Sequence[PartAsked], store: MultipartStore) -> tuple[PartGranted, ...]:
    """Return a URL for each part, good for 15 minutes, that accepts only the announced bytes (F-40). Raises Invalid,
    NotFound."""
    if not 1 <= len(parts) <= MAX_PARTS_A_CALL:
        raise Invalid(f"Ask for 1 to {MAX_PARTS_A_CALL} parts at a time; this request asks for {len(parts)}.")
    for part in parts:
        check_part([file.size for file in files], part)
    return tuple(_grant(files[part.file], part, store) for part in parts)


def list_held_parts(
    files: Sequence[SentFile], store: MultipartStore, *, after: tuple[int, int], limit: int
) -> tuple[tuple[PartHeld, ...], tuple[int, int] | None]:
    """Return the parts that S3 holds after (file, n), for resuming, and where the next page begins, or None on the last
    page.

    A page covers at most `limit` files, so it can be short, even empty, and still have a next one.
    """
    found: list[PartHeld] = []
    first, after_n = after
    for number in range(first, min(first + limit, len(files))):
        file = files[number]
        rest = [
            part for part in _list_held(number, file, _find_stored(store, file)) if number > first or part.n > after_n
        ]
        room = limit - len(found)
        found += rest[:room]
        if len(rest) > room:
            return tuple(found), (number, rest[room].n - 1)
    following = first + limit
    return tuple(found), (following, 0) if following < len(files) else None


def put_together(files: Sequence[SentFile], store: MultipartStore) -> list[StoredObject]:
    """Return the whole object of each file. Idempotent, also if an earlier call crashed after S3 had assembled some or
    all. Raises Conflict that names the missing parts."""
    stored = map_concurrently(lambda file: _find_stored(store, file), files)
    for number, (file, what) in enumerate(zip(files, stored, strict=True)):
        check_whole(number, file.size, what)
    return map_concurrently(lambda pair: _finish(store, *pair), tuple(zip(files, stored, strict=True)))


def _grant(file: SentFile, part: PartAsked, store: MultipartStore) -> PartGranted:
    url = store.presign_part(
        file.uri, file.upload_id or "", n=part.n, size=part.size, sha256=part.sha256, seconds=URL_SECONDS
    )
    checksum = base64.b64encode(bytes.fromhex(part.sha256)).decode()
    return PartGranted(file=part.file, n=part.n, url=url, headers={"x-amz-checksum-sha256": checksum})


def _find_stored(store: MultipartStore, file: SentFile) -> tuple[UploadedPart, ...] | StoredObject:
    """Return the parts of a file, or the whole object if an earlier completion got that far. Raises Conflict if neither
    is there."""
    try:
        return store.list_parts(file.uri, file.upload_id or "")
    except SourceMissing:
        try:
            return store.head(file.uri)
        except SourceMissing as error:
            raise Conflict("The upload has expired. Start a new one.") from error


def _list_held(number: int, file: SentFile, stored: tuple[UploadedPart, ...] | StoredObject) -> list[PartHeld]:
    if isinstance(stored, StoredObject):
        sizes = [(n, compute_part_size(file.size, n)) for n in range(1, count_parts(file.size) + 1)]
        return [PartHeld(file=number, n=n, size=size, sha256=None) for n, size in sizes]
    return [PartHeld(file=number, n=part.n, size=part.size, sha256=part.sha256) for part in stored]


def _finish(store: MultipartStore, file: SentFile, stored: tuple[UploadedPart, ...] | StoredObject) -> StoredObject:
    if isinstance(stored, StoredObject):
        return stored
    whole = store.complete_upload(file.uri, file.upload_id or "", stored)
    return replace(whole, sha256=compute_composite_digest([part.sha256 for part in stored]))
