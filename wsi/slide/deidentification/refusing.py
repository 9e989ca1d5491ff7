"""What can not be de-identified is refused whole: a slide is never half clean."""

from __future__ import annotations

from wsi.errors import RejectReason, SlideRejected


def can_not(why: str) -> SlideRejected:
    """`why` is half a sentence, without a stop."""
    return SlideRejected(
        RejectReason.CAN_NOT_DEIDENTIFY,
        f"{why}, so that its label and identifiers can not be removed: export it as SVS, OME-TIFF, tiled TIFF or "
        "DICOM, or send it without de-identification.",
    )
