"""Slides that are registered by reference from a source of their tenant."""

from __future__ import annotations

import hashlib
from uuid import uuid4

from wsi.access import require
from wsi.errors import Forbidden, Invalid, NotFound, SourceMissing, SourceOutside
from wsi.notices.outbox import wake
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import SlideStore, StoredObject
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.sources.source import is_plain_key
from wsi.uploads.rules import choose_display_name


def register_slide(
    actor: Actor,
    s3_uri: str,
    *,
    mpp: float | None,
    choice: Choice | None = None,
    ledger: TenantLedger,
    slides: SlideStore,
    queues: Queues,
    traceparent: str,
) -> Slide:
    """Register a slide in the customer's own bucket and return it, UPLOADED at once; its bytes stay there. Whether an
    object exists is asked only within the tenant's sources, so that the answer tells nothing about the others.

    Raises Forbidden, Invalid, NotFound.
    """
    require(actor, Role.ANALYST)
    bucket, _, key = s3_uri.removeprefix("s3://").partition("/")
    if not s3_uri.startswith("s3://") or not bucket or not key:
        raise Invalid("The address of the slide must read s3://bucket/key.")
    if not is_plain_key(key):
        raise Invalid("The key of the slide must have no empty part, no '.' or '..' and no control character.")
    try:
        stored = slides.look_up(s3_uri, tenant=actor.tenant)
    except SourceOutside as error:
        raise Forbidden(error.sentence) from error
    except SourceMissing as error:
        raise NotFound("There is no object at this address, or this installation may not read it.") from error
    if not stored.size:
        raise Invalid("The object at this address is empty.")
    file = SlideFile(name=choose_display_name([key]), uri=s3_uri, size=stored.size, etag=stored.etag)
    digest = compute_reference_digest(s3_uri, stored)
    try:
        slide = ledger.register_slide(
            actor, uuid4(), file.name, [file], mpp=mpp, choice=choice, digest=digest, traceparent=traceparent
        )
    except SourceOutside as error:  # removed a moment ago
        raise Forbidden(error.sentence) from error
    wake(queues, traceparent=traceparent)
    return slide


def compute_reference_digest(s3_uri: str, stored: StoredObject) -> str:
    """Return S3's own SHA-256 if the object has one, else a digest of address, ETag and size, which identify one
    version of it without reading gigabytes. In both cases equal digests mean equal bytes."""
    if stored.sha256 is not None:
        return stored.sha256
    return "ref-" + hashlib.sha256(f"{s3_uri}\n{stored.etag}\n{stored.size}".encode()).hexdigest()
