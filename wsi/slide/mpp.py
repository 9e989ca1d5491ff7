"""Microns per pixel: where it comes from, whether its sources agree, and whether it can be true.

The power of the objective is no source: "20x" spans 0.23 to 0.55 um a pixel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection

SMALLEST, LARGEST = 0.05, 20.0  #: um/px; from oil immersion with a fine camera to a macro overview
SCREEN_DPI = (72.0, 96.0)  #: what picture software writes when it knows nothing
OVERRIDE = "override"  #: the source of what a person states
#: Factors by which a mistaken unit is off: inches for centimetres, millimetres for centimetres.
UNIT_MISTAKES = (2.54, 10.0)
_EXACT = 0.03  #: how far off such a factor may be, since each source rounds
_AGREEING = 0.05  #: difference above which people are told
#: um in the units of TIFF's ResolutionUnit: inch, centimetre; millimetre and micrometre as tifffile writes them.
_UNITS: dict[float, float] = {2: 25_400.0, 3: 10_000.0, 4: 1_000.0, 5: 1.0}
_HOW = "state the resolution in microns per pixel with the slide (`mpp`)"  #: the field, whoever asks


@dataclass(frozen=True, slots=True)
class StatedMpp:
    """What one place in a file says."""

    source: str  #: "aperio", "ome", "hamamatsu", "dicom", "tiff-resolution", "openslide"
    x: float | None  #: um per level-0 px, across
    y: float | None  #: down


@dataclass(frozen=True, slots=True)
class Mpp:
    """What all places in a file say together."""

    x: float | None = None  #: um per level-0 px, across
    y: float | None = None  #: down
    source: str | None = None
    conflict: str | None = None  #: why nobody can tell which one is right: without an override, no analysis
    warnings: tuple[str, ...] = ()
    unread: str | None = None  #: a piece of text that looks like a scale and is not understood, where no scale is


def resolve(candidates: Sequence[StatedMpp]) -> Mpp:
    """The first complete one of `candidates`, which come in the order of trust: the vendor's own field first.

    Another one that differs by a unit's factor (2.54 or 10, within 3 %) on either axis is a conflict, as nobody can
    tell which one was mistaken; one that differs by more than 5 % a warning, unless it is no microscope's: writers put
    1 or 300 dots per inch where they know nothing, and Trestle its microns. Raises nothing: `checked_mpp` does, so that
    an override can still be given.
    """
    complete = [(said.source, said.x, said.y) for said in candidates if said.x is not None and said.y is not None]
    if not complete:
        return Mpp()
    source, x, y = complete[0]
    conflict: str | None = None
    warnings: list[str] = []
    for other, other_x, other_y in complete[1:]:
        both = f"{_words(x, y)} ({source}) and {_words(other_x, other_y)} ({other})"
        if is_unit_mistake(x, other_x) or is_unit_mistake(y, other_y):
            conflict = conflict or f"The file says both {both} microns per pixel, as if a unit was mistaken: {_HOW}."
        elif possible(other_x) and possible(other_y) and max(_apart(x, other_x), _apart(y, other_y)) > _AGREEING:
            warnings.append(f"The file says both {both} microns per pixel.")
    return Mpp(x, y, source, conflict, tuple(warnings))


def overridden(inspection: Inspection, mpp: float | None) -> Inspection:
    """With the `mpp` that a person states, on both axes and every level; unchanged for None."""
    if mpp is None:
        return inspection
    return replace(inspection, mpp_x=mpp, mpp_y=mpp, mpp_source=OVERRIDE, mpp_conflict=None)


def resolution_mpp(density: float | None, unit: float) -> float | None:
    """From a TIFF resolution tag, in pixels per `unit` (2 inch, 3 cm, 4 mm, 5 um). A screen's density counts as
    missing."""
    if density is None or not 0 < density < math.inf or unit not in _UNITS:
        return None
    return real_resolution(_UNITS[unit] / density)


def real_resolution(mpp: float | None) -> float | None:
    """None for 72 and 96 dots per inch, which no scanner has: 353 and 265 um/px; and for what is not positive."""
    if (
        mpp is None
        or not 0 < mpp < math.inf
        or any(math.isclose(mpp, 25_400 / dpi, rel_tol=2e-3) for dpi in SCREEN_DPI)
    ):
        return None
    return mpp


def openslide_mpp(value: str | None) -> float | None:
    """From an `openslide.mpp-x` or `-y` property."""
    return real_resolution(number(value))


def checked_mpp(inspection: Inspection) -> tuple[float, float]:
    """(mpp_x, mpp_y) in um per level-0 px. Raises SlideRejected NO_MPP, MPP_CONFLICT or ABSURD_MPP."""
    mpp_x, mpp_y = inspection.mpp_x, inspection.mpp_y
    overrides = inspection.mpp_source == OVERRIDE
    if mpp_x is None or mpp_y is None:
        said = (
            "" if inspection.mpp_unread is None else f' (it holds "{inspection.mpp_unread}", which is not understood)'
        )
        raise SlideRejected(
            RejectReason.NO_MPP, f"The file does not say how many microns a pixel covers{said}: {_HOW}."
        )
    if inspection.mpp_conflict is not None and not overrides:
        raise SlideRejected(RejectReason.MPP_CONFLICT, inspection.mpp_conflict)
    for mpp in (mpp_x, mpp_y):
        if not possible(mpp):
            who = "resolution given is" if overrides else "file claims"
            raise SlideRejected(
                RejectReason.ABSURD_MPP,
                f"The {who} {mpp:.4g} microns per pixel, outside {SMALLEST:g} to {LARGEST:g}: {_HOW}.",
            )
    return mpp_x, mpp_y


def possible(mpp: float) -> bool:
    """Whether a scanner can have so many um per px."""
    return SMALLEST <= mpp <= LARGEST  # False for NaN too.


def is_unit_mistake(one: float, other: float) -> bool:
    """Return whether one is larger than the other by the factor of a mistaken unit."""
    return any(abs(_apart(one, other) + 1 - factor) <= _EXACT * factor for factor in UNIT_MISTAKES)


def _apart(one: float, other: float) -> float:
    """0 for equal values, 1 for twice as much; endless for what no comparison can be made with."""
    if not (0 < one < math.inf and 0 < other < math.inf):  # True for NaN too.
        return math.inf
    return max(one, other) / min(one, other) - 1


def _words(x: float, y: float) -> str:
    return f"{x:.4g}" if x == y else f"{x:.4g} x {y:.4g}"


def number(text: str | None) -> float | None:
    """None for what is no number."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return None
