"""The refusal of a slide that cannot be de-identified as a whole: a slide is never half clean."""

from __future__ import annotations

from wsi.errors import RejectReason, SlideRejected


def make_deidentification_error(why: str) -> SlideRejected:
    """Return the refusal of a slide. `why` is the first half of its sentence, without a full stop."""
    return SlideRejected(
        RejectReason.CAN_NOT_DEIDENTIFY,
        f"{why}, so that its label and identifiers cannot be removed: export it as SVS, OME-TIFF, tiled TIFF or "
        "DICOM, or send it without de-identification.",
    )
