"""Microns per pixel: where it comes from, and whether it can be true."""

from __future__ import annotations

import math
import re

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection

SMALLEST, LARGEST = 0.05, 20.0  #: um/px; from oil immersion with a fine camera to a macro overview
SCREEN_DPI = (72.0, 96.0)  #: what picture software writes when it knows nothing
_PER_INCH = {2: 1.0, 3: 2.54}  #: TIFF ResolutionUnit: inch, centimetre
_APERIO_MPP = re.compile(r"\|\s*MPP\s*=\s*([0-9.eE+-]+)\s*(?:\||$)")
_HOW = "pass the resolution in microns per pixel (`--mpp` on the command line, `mpp` in the upload)"


def aperio_mpp(description: str) -> float | None:
    """The MPP field of an Aperio ImageDescription."""
    found = _APERIO_MPP.search(description)
    return _number(found[1]) if found else None


def resolution_mpp(density: float | None, unit: int) -> float | None:
    """From a TIFF resolution tag, in pixels per `unit` (2 inch, 3 cm). A screen's density counts as missing."""
    if density is None or density <= 0 or unit not in _PER_INCH:
        return None
    return real_resolution(25_400 / (density * _PER_INCH[unit]))


def real_resolution(mpp: float | None) -> float | None:
    """None for 72 and 96 dots per inch, which no scanner has: 353 and 265 um/px."""
    if mpp is None or any(math.isclose(mpp, 25_400 / dpi, rel_tol=2e-3) for dpi in SCREEN_DPI):
        return None
    return mpp


def openslide_mpp(value: str | None) -> float | None:
    """From an `openslide.mpp-x` or `-y` property."""
    return real_resolution(_number(value)) if value is not None else None


def checked_mpp(inspection: Inspection) -> tuple[float, float]:
    """(mpp_x, mpp_y) in um per level-0 px. Raises SlideRejected NO_MPP or ABSURD_MPP."""
    mpp_x, mpp_y = inspection.mpp_x, inspection.mpp_y
    if mpp_x is None or mpp_y is None:
        raise SlideRejected(RejectReason.NO_MPP, f"The file does not say how many microns a pixel covers: {_HOW}.")
    for mpp in (mpp_x, mpp_y):
        if not SMALLEST <= mpp <= LARGEST:  # False for NaN too.
            who = "resolution given is" if inspection.mpp_source == "override" else "file claims"
            raise SlideRejected(
                RejectReason.ABSURD_MPP,
                f"The {who} {mpp:.4g} microns per pixel, outside {SMALLEST:g} to {LARGEST:g}: {_HOW}.",
            )
    return mpp_x, mpp_y


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
