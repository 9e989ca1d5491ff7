"""Uploads: a slide's files go from the browser straight to S3 in presigned parts; the server only signs and counts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

from wsi import keys
from wsi.access import require
from wsi.concurrency import map_concurrently
from wsi.digests import compute_slide_digest
from wsi.errors import Conflict
from wsi.notices.outbox import wake
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import SlideStore
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.spans import join_trace
from wsi.states import SlideState
from wsi.uploads import multipart
from wsi.uploads.multipart import PartGranted, PartHeld
from wsi.uploads.rules import NewFile, PartAsked, check_files, choose_display_name


def open_upload(
    actor: Actor,
    files: Sequence[NewFile],
    *,
    mpp: float | None,
    choice: Choice | None = None,
    deidentify: bool = False,
    ledger: TenantLedger,
    slides: SlideStore,
    traceparent: str | None = None,
) -> Slide:
    """Return a slide in state UPLOADING with one multipart upload a file. Raises Forbidden, Invalid."""
    require(actor, Role.ANALYST)
    check_files(files)
    slide_id = uuid4()
    uris = [slides.make_uri(keys.of_slide_file(actor.tenant, slide_id, number)) for number in range(len(files))]
    # A death before the next commit leaves uploads that no row knows: the bucket's lifecycle aborts them (F-44).
    upload_ids = map_concurrently(slides.begin_upload, uris)
    opened = [
        SlideFile(name=file.name, uri=uri, size=file.size, upload_id=upload_id)
        for file, uri, upload_id in zip(files, uris, upload_ids, strict=True)
    ]
    name = choose_display_name([file.name for file in files])
    return ledger.create_slide(
        actor, slide_id, name, opened, mpp=mpp, choice=choice, deidentify=deidentify, traceparent=traceparent
    )


def grant_parts(
    actor: Actor, slide_id: UUID, parts: Sequence[PartAsked], *, ledger: TenantLedger, slides: SlideStore
) -> tuple[PartGranted, ...]:
    """Return a URL for each part, good for 15 minutes, that accepts only the announced bytes (F-40)."""
    require(actor, Role.ANALYST)
    return multipart.grant(_uploading(ledger.get_slide(actor, slide_id)).files, parts, slides)


def list_stored_parts(
    actor: Actor, slide_id: UUID, *, after: tuple[int, int], limit: int, ledger: TenantLedger, slides: SlideStore
) -> tuple[tuple[PartHeld, ...], tuple[int, int] | None]:
    """Return the parts that S3 holds after (file, n), for resuming, and where the next page begins, or None on the last
    page."""
    return multipart.list_held_parts(
        _uploading(ledger.get_slide(actor, slide_id)).files, slides, after=after, limit=limit
    )


def complete_upload(
    actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore, queues: Queues, traceparent: str
) -> Slide:
    """Move a slide from UPLOADING to UPLOADED once S3 holds every part. Idempotent, also if an earlier call crashed
    after S3 had assembled some or all files. Raises Conflict that names the missing parts."""
    require(actor, Role.ANALYST)
    slide = ledger.get_slide(actor, slide_id)
    traceparent = join_trace(traceparent, slide.traceparent)
    if slide.state not in (SlideState.UPLOADING, SlideState.DELETED):
        return slide
    _uploading(slide)
    whole = multipart.put_together(slide.files, slides)
    digest = compute_slide_digest([file.sha256 or "" for file in whole])
    etags = {file.uri: finished.etag for file, finished in zip(slide.files, whole, strict=True)}
    try:
        slide = ledger.complete_upload(actor, slide_id, digest=digest, etags=etags)
    except Conflict:  # aborted meanwhile: nobody else knows of the objects that were just put together
        map_concurrently(slides.delete, [file.uri for file in slide.files])
        raise
    wake(queues, traceparent=traceparent)
    return slide


def abort_upload(actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore) -> None:
    """Move a slide from UPLOADING to DELETED, and drop its parts in S3. Idempotent. Raises Conflict for a slide that is
    past uploading."""
    require(actor, Role.ANALYST)
    slide = ledger.get_slide(actor, slide_id)
    if slide.state not in (SlideState.UPLOADING, SlideState.DELETED):
        raise Conflict("The upload is complete. Delete the slide instead.")
    ledger.delete_slide(actor, slide_id)
    drop_uploads(slide, slides)


def drop_uploads(slide: Slide, slides: SlideStore) -> None:
    """Abort the multipart uploads of the slide, and delete unfinished copies of its files. Idempotent."""
    unfinished = [(file.uri, file.upload_id) for file in slide.files if file.upload_id]
    map_concurrently(lambda upload: slides.abort_upload(*upload), unfinished)
    copies = [file.clean for file in slide.files if file.clean is not None]
    # In this order: an upload that ends before it is aborted has left an object, which is seen then.
    map_concurrently(lambda copy: slides.abort_upload(copy.uri, copy.upload_id), copies)
    map_concurrently(lambda copy: slides.delete(copy.uri), copies)


def _uploading(slide: Slide) -> Slide:
    if slide.state is SlideState.DELETED:
        raise Conflict("The upload was aborted. Start a new one.")
    if slide.state is not SlideState.UPLOADING:
        raise Conflict("The upload is already complete.")
    return slide
