"""Slides that are registered by reference from an allow-listed bucket."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from uuid import uuid4

from wsi.access import require
from wsi.errors import Forbidden, Invalid, NotFound, SourceMissing
from wsi.notices.outbox import wake
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import SlideStore, StoredObject
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.uploads.rules import choose_display_name

#: What a key may not hold: the range reader's client refuses such keys, and SQL takes no NUL.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def register_slide(
    actor: Actor,
    s3_uri: str,
    *,
    mpp: float | None,
    choice: Choice | None = None,
    ledger: TenantLedger,
    slides: SlideStore,
    queues: Queues,
    allowed_buckets: Collection[str],
    traceparent: str,
) -> Slide:
    """Register a slide in the customer's own bucket and return it, UPLOADED at once; its bytes stay there.

    Raises Forbidden, Invalid, NotFound.
    """
    require(actor, Role.ANALYST)
    bucket, _, key = s3_uri.removeprefix("s3://").partition("/")
    if not s3_uri.startswith("s3://") or not bucket or not key:
        raise Invalid("The address of the slide must read s3://bucket/key.")
    if any(segment in ("", ".", "..") for segment in key.split("/")) or _CONTROL.search(key):
        raise Invalid("The key of the slide must have no empty part, no '.' or '..' and no control character.")
    # Our own bucket holds every tenant's slides, so it is never registered from, even when it is listed.
    if bucket not in allowed_buckets or s3_uri.startswith(slides.make_uri("")):
        raise Forbidden("This bucket is not on the list of buckets that slides may be registered from. Ask an admin.")
    try:
        stored = slides.head(s3_uri)
    except SourceMissing as error:
        raise NotFound("There is no object at this address, or this installation may not read it.") from error
    if not stored.size:
        raise Invalid("The object at this address is empty.")
    file = SlideFile(name=choose_display_name([key]), uri=s3_uri, size=stored.size, etag=stored.etag)
    digest = compute_reference_digest(s3_uri, stored)
    slide = ledger.register_slide(
        actor, uuid4(), file.name, [file], mpp=mpp, choice=choice, digest=digest, traceparent=traceparent
    )
    wake(queues, traceparent=traceparent)
    return slide


def compute_reference_digest(s3_uri: str, stored: StoredObject) -> str:
    """Return S3's own SHA-256 if the object has one, else a digest of address, ETag and size, which identify one
    version of it without reading gigabytes. In both cases equal digests mean equal bytes."""
    if stored.sha256 is not None:
        return stored.sha256
    return "ref-" + hashlib.sha256(f"{s3_uri}\n{stored.etag}\n{stored.size}".encode()).hexdigest()
