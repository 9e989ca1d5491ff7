"""What inspection finds out about a slide: its resolution, an overview, where tissue lies and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import simplejpeg  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection
from wsi.slide.mpp import checked_mpp
from wsi.slide.slide import SlideReader
from wsi.slide.thumbnail import thumbnail
from wsi.tissue import tissue_mask

#: Grey value. The glass of a brightfield slide lies above 200; a background below this is black, and density against
#: it would call all of it tissue.
DARK = 32
_QUALITY = 85  #: of the overview's JPEG


@dataclass(frozen=True, slots=True)
class Examination:
    inspection: Inspection  #: with tissue
    thumbnail_jpeg: bytes
    #: [height, width] over the whole slide: tissue, and what could not be decoded, so that nothing is dropped unseen
    mask: NDArray[np.bool_]


def examine(reader: SlideReader, *, max_px: int = 2048) -> Examination:
    """Raises SlideRejected: NO_MPP, ABSURD_MPP, DAMAGED when no tile of the overview's level can be decoded,
    UNSUPPORTED_PIXELS for a dark background."""
    mpp_x, mpp_y = checked_mpp(reader.inspection)
    overview = thumbnail(reader, max_px)
    if overview.unreadable == overview.tiles:
        raise SlideRejected(RejectReason.DAMAGED, "None of the slide's tiles can be decoded: send the file again.")
    if np.median(overview.pixels[overview.readable].max(axis=-1)) < DARK:
        raise SlideRejected(
            RejectReason.UNSUPPORTED_PIXELS,
            "More than half of the slide is black, as in fluorescence or in a mask: models expect stained tissue on "
            "clear glass.",
        )
    tissue = tissue_mask(overview.pixels) & overview.readable
    warnings = reader.inspection.warnings
    if overview.unreadable:
        share = f"{overview.unreadable:,} of the {overview.tiles:,} tiles"
        warnings = (*warnings, f"{share} that the overview is made from can not be decoded.")
    inspection = replace(
        reader.inspection,
        tissue_um2=float(tissue.sum()) * overview.downsample**2 * mpp_x * mpp_y,
        tissue_fraction=float(tissue.mean()),
        warnings=warnings,
    )
    jpeg: bytes = simplejpeg.encode_jpeg(overview.pixels, quality=_QUALITY, colorspace="RGB")
    return Examination(inspection, jpeg, tissue | ~overview.readable)
