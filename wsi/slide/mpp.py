"""Microns per pixel: where the scale comes from, whether its sources agree, and whether it can be true.

The power of the objective is no source: "20x" spans 0.23 to 0.55 um a pixel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection

SMALLEST, LARGEST = 0.05, 20.0  #: um/px; from oil immersion with a fine camera to a macro overview
SCREEN_DPI = (72.0, 96.0)  #: what image software writes when it knows nothing
OVERRIDE = "override"  #: the source of what a person states
#: Factors by which a mistaken unit is off: inches for centimetres, millimetres for centimetres.
UNIT_MISTAKES = (2.54, 10.0)
_EXACT = 0.03  #: how far off such a factor may be, since each source rounds
_AGREEING = 0.05  #: difference above which a warning is given
#: um in the units of TIFF's ResolutionUnit: inch, centimetre; millimetre and micrometre as tifffile writes them.
_UNITS: dict[float, float] = {2: 25_400.0, 3: 10_000.0, 4: 1_000.0, 5: 1.0}
_HOW = "state the resolution in microns per pixel with the slide (`mpp`)"  #: the same field for every caller


@dataclass(frozen=True, slots=True)
class StatedMpp:
    """The scale that one place in a file states."""

    source: str  #: "aperio", "ome", "hamamatsu", "dicom", "tiff-resolution", "openslide"
    x: float | None  #: um per level-0 px, across
    y: float | None  #: down


@dataclass(frozen=True, slots=True)
class Mpp:
    """The scale that all places in a file state together."""

    x: float | None = None  #: um per level-0 px, across
    y: float | None = None  #: down
    source: str | None = None
    conflict: str | None = None  #: why nobody can tell which one is right: without an override, no analysis
    warnings: tuple[str, ...] = ()
    unread: str | None = None  #: a piece of text that looks like a scale and is not understood, where no scale is


def resolve(candidates: Sequence[StatedMpp]) -> Mpp:
    """Return the first complete one of `candidates`, which come in the order of trust: the vendor's own field first.

    Another one that differs by a unit's factor (2.54 or 10, within 3 %) on either axis is a conflict: nobody can tell
    which of the two is mistaken. One that differs by more than 5 % is a warning. It is ignored if no microscope has
    such a scale: some programs write 1 or 300 dots per inch when they do not know the scale, and Trestle writes its
    microns there. Raises nothing: `get_valid_mpp` does, so that an override can still be given.
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
        elif is_possible(other_x) and is_possible(other_y) and max(_apart(x, other_x), _apart(y, other_y)) > _AGREEING:
            warnings.append(f"The file says both {both} microns per pixel.")
    return Mpp(x, y, source, conflict, tuple(warnings))


def override_mpp(inspection: Inspection, mpp: float | None) -> Inspection:
    """Return the inspection with the `mpp` that a person states, on both axes and every level; unchanged for None."""
    if mpp is None:
        return inspection
    return replace(inspection, mpp_x=mpp, mpp_y=mpp, mpp_source=OVERRIDE, mpp_conflict=None)


def convert_resolution(density: float | None, unit: float) -> float | None:
    """Convert a TIFF resolution tag, in pixels per `unit` (2 inch, 3 cm, 4 mm, 5 um), to um per px. A screen's density
    counts as missing: None."""
    if density is None or not 0 < density < math.inf or unit not in _UNITS:
        return None
    return drop_screen_mpp(_UNITS[unit] / density)


def drop_screen_mpp(mpp: float | None) -> float | None:
    """Return `mpp`, or None for 72 and 96 dots per inch, which no scanner has (353 and 265 um/px), and for what is not
    positive."""
    if (
        mpp is None
        or not 0 < mpp < math.inf
        or any(math.isclose(mpp, 25_400 / dpi, rel_tol=2e-3) for dpi in SCREEN_DPI)
    ):
        return None
    return mpp


def parse_openslide_mpp(value: str | None) -> float | None:
    """Return the um per px of an `openslide.mpp-x` or `-y` property; None for what no scanner has."""
    return drop_screen_mpp(parse_number(value))


def get_valid_mpp(inspection: Inspection) -> tuple[float, float]:
    """Return (mpp_x, mpp_y) in um per level-0 px. Raises SlideRejected NO_MPP, MPP_CONFLICT or ABSURD_MPP."""
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
        if not is_possible(mpp):
            who = "resolution given is" if overrides else "file claims"
            raise SlideRejected(
                RejectReason.ABSURD_MPP,
                f"The {who} {mpp:.4g} microns per pixel, outside {SMALLEST:g} to {LARGEST:g}: {_HOW}.",
            )
    return mpp_x, mpp_y


def is_possible(mpp: float) -> bool:
    """Return whether a scanner can have this many um per px."""
    return SMALLEST <= mpp <= LARGEST  # False for NaN too.


def is_unit_mistake(one: float, other: float) -> bool:
    """Return whether the two differ by the factor of a mistaken unit."""
    return any(abs(_apart(one, other) + 1 - factor) <= _EXACT * factor for factor in UNIT_MISTAKES)


def _apart(one: float, other: float) -> float:
    """Return 0 for equal values, 1 for twice as much; infinity for values that cannot be compared."""
    if not (0 < one < math.inf and 0 < other < math.inf):  # True for NaN too.
        return math.inf
    return max(one, other) / min(one, other) - 1


def _words(x: float, y: float) -> str:
    return f"{x:.4g}" if x == y else f"{x:.4g} x {y:.4g}"


def parse_number(text: str | None) -> float | None:
    """Return the number in `text`; None for what is no number."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return None
