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

#: Grey value. The glass of a brightfield slide lies above 200 in all channels; what is darker than this is stained,
#: out of the light, or not brightfield.
GLASS = 160
#: Least share of what was scanned that must be glass when most of the slide is dark: a slide padded with black has
#: much of it, fluorescence and masks have none.
GLASS_SHARE = 0.01
DARK = 32  #: grey value; density against a background below this would call all of it tissue
_QUALITY = 85  #: of the overview's JPEG


@dataclass(frozen=True, slots=True)
class Examination:
    inspection: Inspection  #: with tissue
    thumbnail_jpeg: bytes
    #: [height, width] over the whole slide: tissue, and what could not be decoded, so that nothing is dropped unseen
    mask: NDArray[np.bool_]


def examine(reader: SlideReader, *, max_px: int = 2048) -> Examination:
    """Raises SlideRejected: NO_MPP, MPP_CONFLICT, ABSURD_MPP, DAMAGED when no tile of the overview's level can be
    decoded, UNSUPPORTED_PIXELS for a dark background."""
    mpp_x, mpp_y = checked_mpp(reader.inspection)
    overview = thumbnail(reader, max_px)
    if overview.unreadable == overview.tiles:
        raise SlideRejected(RejectReason.DAMAGED, "None of the slide's tiles can be decoded: send the file again.")
    if _is_dark(overview.pixels[overview.readable]):
        raise SlideRejected(
            RejectReason.UNSUPPORTED_PIXELS,
            "The slide is black without clear glass, as in fluorescence or in a mask: models expect stained tissue on "
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


def _is_dark(seen: NDArray[np.uint8]) -> bool:
    """[n, 3] pixels of which most are dark and next to none are glass."""
    return bool(np.median(seen.max(axis=-1)) < DARK and (seen.min(axis=-1) >= GLASS).mean() < GLASS_SHARE)
