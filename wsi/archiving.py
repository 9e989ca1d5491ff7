"""Slides that nobody reads for long lie in Deep Archive for little money, and come back within hours.

SQL moves first, the files follow: a file that is not marked though its slide is ARCHIVED only costs money, a marked
one of a READY slide would become unreadable. A death between the two is put right by the same request, asked again,
or by the sweep.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from wsi.access import require
from wsi.errors import Conflict, TesseraError
from wsi.ports.ledger import SystemLedger, TenantLedger
from wsi.ports.objects import Readable, SlideStore
from wsi.records.identity import Actor, Role
from wsi.records.slides import RestoreTier, Slide
from wsi.side_by_side import each
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
    """What one run of the sweep did about archived slides."""

    slides_restored: int = 0
    slides_archived_again: int = 0
    slides_unsettled: int = 0  #: S3 failed on one of their files; they come again, or cost a little more


def archive_slide(actor: Actor, slide_id: UUID, *, ledger: TenantLedger, slides: SlideStore) -> Slide:
    """READY -> ARCHIVED, then its files are marked. Idempotent. Raises Forbidden, NotFound; Conflict while a live job
    reads it, in any other state, and for files that are not ours."""
    require(actor, Role.ANALYST)
    if not all(file.uri.startswith(slides.uri("")) for file in ledger.slide(actor, slide_id).files):
        raise Conflict("The slide lies in a bucket that is not ours, so it can not be archived from here.")
    slide = ledger.archive_slide(actor, slide_id)
    _mark(slide, slides)
    return slide


def restore_slide(
    actor: Actor, slide_id: UUID, *, tier: RestoreTier, ledger: TenantLedger, slides: SlideStore
) -> Slide:
    """ARCHIVED -> RESTORING, then S3 is asked for its files; the sweep sees when they are there. Idempotent, with the
    tier that was asked for first. Raises Forbidden, NotFound, Conflict."""
    require(actor, Role.ANALYST)
    slide = ledger.restore_slide(actor, slide_id, tier)
    if slide.state is SlideState.RESTORING:
        _ask_for(slide, slides)
    return slide


def settle(*, ledger: SystemLedger, slides: SlideStore) -> Settled:
    """RESTORING -> READY once every file can be read, asking again for what nobody asked for; READY -> ARCHIVED before
    the copies go."""
    restored = [
        _settled(slide, ledger, slides) for slide in ledger.restoring_slides(seconds=LOOK_SECONDS, limit=SLIDES_A_RUN)
    ]
    expired = [_marked(slide, slides) for slide in ledger.expire_restored(seconds=EXPIRY_SECONDS, limit=SLIDES_A_RUN)]
    return Settled(
        slides_restored=restored.count(True),
        slides_archived_again=len(expired),
        slides_unsettled=restored.count(None) + expired.count(False),
    )


def _settled(slide: Slide, ledger: SystemLedger, slides: SlideStore) -> bool | None:
    """Whether the slide is READY now; None when S3 failed."""
    try:
        files = _ask_for(slide, slides)
    except TesseraError:  # the others' turn; this one comes again
        logger.exception("A slide could not be restored.", extra={"slide_id": str(slide.id)})
        return None
    if not all(file.now for file in files):
        return False
    until = min((file.until for file in files if file.until is not None), default=None)
    return ledger.finish_restore(slide.id, until=until)


def _marked(slide: Slide, slides: SlideStore) -> bool:
    try:
        _mark(slide, slides)
    except TesseraError:  # its files lie in the archive anyway, but for those that had not moved
        logger.exception("A slide's files could not be marked.", extra={"slide_id": str(slide.id)})
        return False
    return True


def _mark(slide: Slide, slides: SlideStore) -> None:
    each(slides.archive, [file.uri for file in slide.files])


def _ask_for(slide: Slide, slides: SlideStore) -> list[Readable]:
    tier = slide.restore_tier or RestoreTier.STANDARD
    return each(lambda file: slides.restore(file.uri, days=RESTORED_DAYS, tier=tier), slide.files)
