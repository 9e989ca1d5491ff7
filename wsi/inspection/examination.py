"""Examination of a slide: its resolution, an overview, the place of its tissue and the amount of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import simplejpeg  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.inspection.channels import compute_channel_max, compute_channel_min
from wsi.inspection.mask import DETECTED, SlideMask
from wsi.inspection.thumbnail import Thumbnail, make_thumbnail
from wsi.inspection.tissue import SETTINGS, Tissue, find_tissue
from wsi.records.slides import Inspection
from wsi.slide.mpp import get_valid_mpp
from wsi.slide.slide import SlideReader

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
    mask: SlideMask  #: tissue, and what could not be decoded, so that nothing is dropped unseen


def examine(reader: SlideReader, *, max_px: int = 2048) -> Examination:
    """Return the slide's facts with its tissue, its overview, and its mask. Raises SlideRejected: NO_MPP, MPP_CONFLICT,
    ABSURD_MPP, DAMAGED when no tile of the overview's level can be decoded, FLUORESCENCE for a dark ground,
    UNSUPPORTED_PIXELS where all is black."""
    mpp_x, mpp_y = get_valid_mpp(reader.inspection)
    overview = make_thumbnail(reader, max_px)
    if overview.unreadable == overview.tiles:
        raise SlideRejected(RejectReason.DAMAGED, "None of the slide's tiles can be decoded: send the file again.")
    _check_light(overview.pixels[overview.readable])
    found = find_tissue(overview.pixels, overview.downsample * max(mpp_x, mpp_y))
    tissue = found.mask & overview.readable
    mask = SlideMask(tissue | ~overview.readable, DETECTED, SETTINGS, float(found.pen.mean()))
    inspection = replace(
        reader.inspection,
        tissue_um2=float(tissue.sum()) * overview.downsample**2 * mpp_x * mpp_y,
        tissue_fraction=float(tissue.mean()),
        warnings=(*reader.inspection.warnings, *_warnings(overview, found)),
    )
    jpeg: bytes = simplejpeg.encode_jpeg(overview.pixels, quality=_QUALITY, colorspace="RGB")
    return Examination(inspection, jpeg, mask)


def _warnings(overview: Thumbnail, found: Tissue) -> Iterator[str]:
    if overview.unreadable:
        share = f"{overview.unreadable:,} of the {overview.tiles:,} tiles"
        yield f"{share} that the overview is made from cannot be decoded."
    if found.pen.any():
        share = found.pen.sum() / (found.pen.sum() + found.mask.sum())
        yield f"Pen marks cover {share:.1%} of what looks like tissue; tissue detection leaves them out."
    if found.stained_like_pen:
        yield "Most of the tissue has the colour of a pen, so that pen marks could not be told and were not left out."


def _check_light(seen: NDArray[np.uint8]) -> None:
    """Raise SlideRejected for pixels, [n, 3], of which most are dark and next to none are glass: they are of no
    brightfield slide."""
    brightest = compute_channel_max(seen)
    if np.median(brightest) >= DARK or (compute_channel_min(seen) >= GLASS).mean() >= GLASS_SHARE:
        return
    if brightest.max() < DARK:
        raise SlideRejected(
            RejectReason.UNSUPPORTED_PIXELS,
            "The slide is black all over, as a mask of labels or an empty scan: models expect stained tissue on clear "
            "glass.",
        )
    raise SlideRejected(
        RejectReason.FLUORESCENCE,
        "The slide shows light on a black ground without clear glass, as in fluorescence: models expect stained tissue "
        "on clear glass.",
    )
