"""Slides that nobody reads for long are stored cheaply in Deep Archive, and come back within hours.

SQL moves first, the files follow. An unmarked file of an ARCHIVED slide only costs money; a marked file of a READY
slide would become unreadable. After a crash between the two, the same request or the sweep repairs the difference.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from wsi.access import require
from wsi.concurrency import map_concurrently
from wsi.errors import Conflict, TesseraError
from wsi.ports.ledger import SystemLedger, TenantLedger
from wsi.ports.objects import Readable, SlideStore
from wsi.records.identity import Actor, Role
from wsi.records.slides import RestoreTier, Slide
from wsi.states import SlideState

logger = logging.getLogger(__name__)

RESTORED_DAYS = 30  #: how long S3 keeps the copy by which a restored slide is read
EXPIRY_SECONDS = 86_400.0  #: before its copy goes, a slide is ARCHIVED again: no job begins on what ends under it
#: Between two looks at a RESTORING slide, and before the first: longer than a request or a sweep can run. So one that
#: still marked files when their slide was wanted back has ended by the look that takes its marks away.
LOOK_SECONDS = 300.0
SLIDES_A_RUN = 10  #: of each kind; a slide of 1,000 files takes about three seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The outcome of one run of the sweep over archived slides."""

    slides_restored: int = 0
    slides_archived_again: int = 0
    slides_unsettled: int = 0  #: S3 failed on one of their files; they come again, or cost a little more


def archive_slide(actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore) -> Slide:
    """Move a slide from READY to ARCHIVED, then mark its files. Idempotent. Raises Forbidden, NotFound; Conflict while
    a live job reads it, in any other state, and for files that are not ours."""
    require(actor, Role.ANALYST)
    if not all(file.uri.startswith(slides.make_uri("")) for file in ledger.get_slide(actor, slide_id).files):
        raise Conflict("The slide lies in a bucket that is not ours, so it cannot be archived from here.")
    slide = ledger.archive_slide(actor, slide_id)
    _mark(slide, slides)
    return slide


def restore_slide(
    actor: Actor, slide_id: UUID, *, tier: RestoreTier, ledger: TenantLedger, slides: SlideStore
) -> Slide:
    """Move a slide from ARCHIVED to RESTORING, then request its files from S3; the sweep detects when they are there.
    Idempotent, with the tier of the first request. Raises Forbidden, NotFound, Conflict."""
    require(actor, Role.ANALYST)
    slide = ledger.restore_slide(actor, slide_id, tier)
    if slide.state is SlideState.RESTORING:
        _ask_for(slide, slides)
    return slide


def settle(*, ledger: SystemLedger, slides: SlideStore) -> Settled:
    """Move slides from RESTORING to READY once every file can be read, and request those files that nobody requested.
    Move slides from READY back to ARCHIVED before their copies expire."""
    restored = [
        _settle_slide(slide, ledger, slides)
        for slide in ledger.claim_restoring_slides(seconds=LOOK_SECONDS, limit=SLIDES_A_RUN)
    ]
    expired = [
        _try_to_mark(slide, slides) for slide in ledger.expire_restored(seconds=EXPIRY_SECONDS, limit=SLIDES_A_RUN)
    ]
    return Settled(
        slides_restored=restored.count(True),
        slides_archived_again=len(expired),
        slides_unsettled=restored.count(None) + expired.count(False),
    )


def _settle_slide(slide: Slide, ledger: SystemLedger, slides: SlideStore) -> bool | None:
    """Request files that nobody requested, move the slide to READY once all can be read, and return whether it moved;
    None if S3 failed."""
    try:
        files = _ask_for(slide, slides)
    except TesseraError:  # the others' turn; this one comes again
        logger.exception("A slide could not be restored.", extra={"slide_id": str(slide.id)})
        return None
    if not all(file.now for file in files):
        return False
    until = min((file.until for file in files if file.until is not None), default=None)
    return ledger.finish_restore(slide.id, until=until)


def _try_to_mark(slide: Slide, slides: SlideStore) -> bool:
    try:
        _mark(slide, slides)
    except TesseraError:  # its files lie in the archive anyway, but for those that had not moved
        logger.exception("A slide's files could not be marked.", extra={"slide_id": str(slide.id)})
        return False
    return True


def _mark(slide: Slide, slides: SlideStore) -> None:
    map_concurrently(slides.archive, [file.uri for file in slide.files])


def _ask_for(slide: Slide, slides: SlideStore) -> list[Readable]:
    tier = slide.restore_tier or RestoreTier.STANDARD
    return map_concurrently(lambda file: slides.restore(file.uri, days=RESTORED_DAYS, tier=tier), slide.files)
