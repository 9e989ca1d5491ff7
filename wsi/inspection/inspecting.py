"""Inspection: the header and one thumbnail level decide whether a slide can be analysed. Needs numpy and codecs."""

from __future__ import annotations

from contextlib import closing, nullcontext
from uuid import UUID

from wsi import keys
from wsi.errors import (
    ObjectLocked,
    RejectReason,
    SlideRejected,
    SourceChanged,
    SourceMissing,
    SourceOutside,
    SourceTruncated,
)
from wsi.inspection.deidentifying import deidentify, forget_files
from wsi.inspection.examination import Examination, examine
from wsi.inspection.stored_examination import open_slide_source, store_examination
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.records.slides import Slide
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.opening import open_slide
from wsi.spans import with_step
from wsi.states import SlideState


def inspect_slide(
    slide_id: UUID,
    *,
    ledger: SystemLedger,
    slides: SlideStore,
    objects: Objects,
    scratch: ScratchSpace,
) -> SlideState | None:
    """Inspect an UPLOADED slide, move it to READY or REJECTED, and return its new state. Return None for a duplicate
    message, or if the slide was inspected, deleted or restated meanwhile: the verdict holds only for the version of the
    slide that was read.

    A slide that must be de-identified is de-identified first. If it is refused before that is done, its files are
    deleted. The ledger sends a message for this too, which finds the slide REJECTED.

    Stores the thumbnail, and the index and the tissue mask for planning. Raises SourceUnavailable, for another try.
    """
    slide = ledger.find_uninspected_slide(slide_id)
    if slide is None:
        refused = ledger.find_identifiable_slide(slide_id)
        if refused is not None:
            forget_files(refused, slides=slides)
        return None
    try:
        with with_step("deidentify") if slide.deidentify else nullcontext():
            clean = deidentify(slide, ledger=ledger, slides=slides)
        if clean is None:
            return None
        slide = clean
        folder = keys.make_inspection_folder(slide.tenant, slide.id, slide.version)
        examination = _examine(slide, slides, objects, folder, scratch)
    except SlideRejected as rejection:
        return _reject(ledger, slides, slide, rejection.reason, rejection.sentence)
    except ObjectLocked:
        sentence = (
            "S3 Object Lock keeps the uploaded files, so the slide cannot be de-identified here. "
            "De-identify it before you upload it."
        )
        return _reject(ledger, slides, slide, RejectReason.CAN_NOT_DEIDENTIFY, sentence)
    except SourceOutside as outside:
        return _reject(ledger, slides, slide, RejectReason.MISSING_FILES, outside.sentence)
    except SourceMissing:
        sentence = "A file of the slide is gone from the store. Upload the slide again."
        return _reject(ledger, slides, slide, RejectReason.MISSING_FILES, sentence)
    except SourceChanged:
        sentence = "A file of the slide was replaced since it was taken in. Upload or register the slide again."
        return _reject(ledger, slides, slide, RejectReason.DAMAGED, sentence)
    except SourceTruncated:
        sentence = "The file ends before its last tile. Export or upload the slide again."
        return _reject(ledger, slides, slide, RejectReason.TRUNCATED, sentence)
    key = keys.of_thumbnail(folder)
    objects.put(key, examination.thumbnail_jpeg, media_type="image/jpeg")
    accepted = ledger.accept_slide(slide_id, examination.inspection.as_json(), key, version=slide.version)
    return SlideState.READY if accepted else None


def _examine(slide: Slide, slides: SlideStore, objects: Objects, folder: str, scratch: ScratchSpace) -> Examination:
    source = open_slide_source(slide, slides)
    with with_step("open slide"):
        opened = open_slide(source, mpp=slide.mpp, choice=slide.choice, scratch=scratch)
    with closing(opened) as reader:
        with with_step("examine"):
            examination = examine(reader)
        with with_step("store examination"):
            store_examination(objects, folder, source, reader, examination)
    return examination


def _reject(
    ledger: SystemLedger, slides: SlideStore, slide: Slide, reason: RejectReason, sentence: str
) -> SlideState | None:
    if not ledger.reject_slide(slide.id, reason, sentence, version=slide.version):
        return None
    refused = ledger.find_identifiable_slide(slide.id)
    if refused is not None:
        forget_files(refused, slides=slides)
    return SlideState.REJECTED
