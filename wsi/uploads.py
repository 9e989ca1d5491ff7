"""Uploads: a slide's files go from the browser straight to S3 in presigned parts; the server only signs and counts.

The client never names a key or an upload id, and never lists its parts: what counts is what S3 says it holds.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from wsi import keys
from wsi.access import require
from wsi.digests import composite_digest, slide_digest
from wsi.errors import Conflict, Invalid, SourceMissing
from wsi.notices import wake
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import SlideStore, StoredObject, StoredPart
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.side_by_side import each
from wsi.states import SlideState
from wsi.upload_rules import (
    MAX_PARTS_A_CALL,
    NewFile,
    PartAsked,
    check_files,
    check_part,
    check_whole,
    display_name,
    part_count,
    part_size,
)

URL_SECONDS = 15 * 60


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


def open_upload(
    actor: Actor,
    files: Sequence[NewFile],
    *,
    mpp: float | None,
    choice: Choice | None = None,
    deidentify: bool = False,
    ledger: TenantLedger,
    slides: SlideStore,
) -> Slide:
    """A slide in state UPLOADING with one multipart upload a file. Raises Forbidden, Invalid."""
    require(actor, Role.ANALYST)
    check_files(files)
    slide_id = uuid4()
    uris = [slides.uri(keys.slide_file(actor.tenant, slide_id, number)) for number in range(len(files))]
    # A death before the next commit leaves uploads that no row knows: the bucket's lifecycle aborts them (F-44).
    upload_ids = each(slides.begin_upload, uris)
    opened = [
        SlideFile(name=file.name, uri=uri, size=file.size, upload_id=upload_id)
        for file, uri, upload_id in zip(files, uris, upload_ids, strict=True)
    ]
    name = display_name([file.name for file in files])
    return ledger.create_slide(actor, slide_id, name, opened, mpp=mpp, choice=choice, deidentify=deidentify)


def grant_parts(
    actor: Actor, slide_id: UUID, parts: Sequence[PartAsked], *, ledger: TenantLedger, slides: SlideStore
) -> tuple[PartGranted, ...]:
    """A URL for each part, good for 15 minutes, that takes only the bytes it was asked for (F-40)."""
    require(actor, Role.ANALYST)
    if not 1 <= len(parts) <= MAX_PARTS_A_CALL:
        raise Invalid(f"Ask for 1 to {MAX_PARTS_A_CALL} parts at a time; this request asks for {len(parts)}.")
    slide = _uploading(ledger.slide(actor, slide_id))
    for part in parts:
        check_part(slide, part)
    return tuple(_grant(slide.files[part.file], part, slides) for part in parts)


def stored_parts(
    actor: Actor, slide_id: UUID, *, after: tuple[int, int], limit: int, ledger: TenantLedger, slides: SlideStore
) -> tuple[tuple[PartHeld, ...], tuple[int, int] | None]:
    """What S3 holds after part (file, n), for resuming; and where the next page begins, None after the last.

    A page looks at no more than `limit` files, so it can be short, even empty, and still have a next one.
    """
    slide = _uploading(ledger.slide(actor, slide_id))
    held: list[PartHeld] = []
    first, after_n = after
    for number in range(first, min(first + limit, len(slide.files))):
        file = slide.files[number]
        rest = [part for part in _held(number, file, _stored(slides, file)) if number > first or part.n > after_n]
        room = limit - len(held)
        held += rest[:room]
        if len(rest) > room:
            return tuple(held), (number, rest[room].n - 1)
    following = first + limit
    return tuple(held), (following, 0) if following < len(slide.files) else None


def complete_upload(
    actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore, queues: Queues, traceparent: str
) -> Slide:
    """UPLOADING -> UPLOADED once S3 holds every part. Idempotent, also when a former call died after S3 had put some
    or all files together. Raises Conflict that names the missing parts."""
    require(actor, Role.ANALYST)
    slide = ledger.slide(actor, slide_id)
    if slide.state not in (SlideState.UPLOADING, SlideState.DELETED):
        return slide
    _uploading(slide)
    stored = each(lambda file: _stored(slides, file), slide.files)
    for number, (file, what) in enumerate(zip(slide.files, stored, strict=True)):
        check_whole(number, file, what)
    whole = each(lambda pair: _finish(slides, *pair), tuple(zip(slide.files, stored, strict=True)))
    digest = slide_digest([file.sha256 or "" for file in whole])
    etags = {file.uri: finished.etag for file, finished in zip(slide.files, whole, strict=True)}
    try:
        slide = ledger.complete_upload(actor, slide_id, digest=digest, etags=etags)
    except Conflict:  # aborted meanwhile: nobody else knows of the objects that were just put together
        each(slides.delete, [file.uri for file in slide.files])
        raise
    wake(queues, traceparent=traceparent)
    return slide


def abort_upload(actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore) -> None:
    """UPLOADING -> DELETED, and S3 drops the parts. Idempotent. Raises Conflict for a slide that is past uploading."""
    require(actor, Role.ANALYST)
    slide = ledger.slide(actor, slide_id)
    if slide.state not in (SlideState.UPLOADING, SlideState.DELETED):
        raise Conflict("The upload is complete. Delete the slide instead.")
    ledger.delete_slide(actor, slide_id)
    drop_uploads(slide, slides)


def drop_uploads(slide: Slide, slides: SlideStore) -> None:
    """Aborts the multipart uploads of the slide, and deletes copies that are being made of its files. Idempotent."""
    each(lambda file: slides.abort_upload(file.uri, file.upload_id or ""), [f for f in slide.files if f.upload_id])
    copies = [file.clean for file in slide.files if file.clean is not None]
    # In this order: an upload that ends before it is aborted has left an object, which is seen then.
    each(lambda copy: slides.abort_upload(copy.uri, copy.upload_id), copies)
    each(lambda copy: slides.delete(copy.uri), copies)


def _grant(file: SlideFile, part: PartAsked, slides: SlideStore) -> PartGranted:
    url = slides.part_url(
        file.uri, file.upload_id or "", n=part.n, size=part.size, sha256=part.sha256, seconds=URL_SECONDS
    )
    checksum = base64.b64encode(bytes.fromhex(part.sha256)).decode()
    return PartGranted(file=part.file, n=part.n, url=url, headers={"x-amz-checksum-sha256": checksum})


def _uploading(slide: Slide) -> Slide:
    if slide.state is SlideState.DELETED:
        raise Conflict("The upload was aborted. Start a new one.")
    if slide.state is not SlideState.UPLOADING:
        raise Conflict("The upload is already complete.")
    return slide


def _stored(slides: SlideStore, file: SlideFile) -> tuple[StoredPart, ...] | StoredObject:
    """The parts of a file, or the whole object when a former completion got that far."""
    try:
        return slides.parts(file.uri, file.upload_id or "")
    except SourceMissing:
        try:
            return slides.head(file.uri)
        except SourceMissing as error:
            raise Conflict("The upload has expired. Start a new one.") from error


def _held(number: int, file: SlideFile, stored: tuple[StoredPart, ...] | StoredObject) -> list[PartHeld]:
    if isinstance(stored, StoredObject):
        sizes = [(n, part_size(file.size, n)) for n in range(1, part_count(file.size) + 1)]
        return [PartHeld(file=number, n=n, size=size, sha256=None) for n, size in sizes]
    return [PartHeld(file=number, n=part.n, size=part.size, sha256=part.sha256) for part in stored]


def _finish(slides: SlideStore, file: SlideFile, stored: tuple[StoredPart, ...] | StoredObject) -> StoredObject:
    if isinstance(stored, StoredObject):
        return stored
    whole = slides.complete_upload(file.uri, file.upload_id or "", stored)
    return replace(whole, sha256=composite_digest([part.sha256 for part in stored]))
