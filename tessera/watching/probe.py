"""Opening a slide to see whether it is complete, before anything is computed or uploaded."""

from __future__ import annotations

from tessera.local_run.inputs.slide_input import SlideInput
from tessera.local_run.sources import Sources
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.files.scratch import NO_COPIES
from wsi.slide.opening import open_slide

#: The slide may still be on its way.
INCOMPLETE = frozenset(
    {
        RejectReason.TRUNCATED,
        RejectReason.DAMAGED,
        RejectReason.MISSING_FILES,
        RejectReason.NOT_A_SLIDE,
        RejectReason.CLAIMS_TOO_MUCH,
    }
)


def probe(slide: SlideInput, sources: Sources) -> None:
    """Read the slide's headers. Nothing is copied: of a slide on S3 that only a copy can show, the list of its files is
    checked. Raises SlideRejected, SourceError."""
    with sources.open(slide) as source:
        try:
            open_slide(source, mpp=slide.mpp, choice=slide.choice, scratch=NO_COPIES).close()
        except SlideRejected as rejected:
            if not (slide.is_remote and rejected.reason is RejectReason.TOO_LARGE_FOR_FORMAT):
                raise


def probe_completeness(slide: SlideInput, sources: Sources) -> None:
    """Probe a slide that an installation judges: rejected only for what may still arrive."""
    try:
        probe(slide, sources)
    except SlideRejected as rejected:
        if rejected.reason in INCOMPLETE:
            raise
