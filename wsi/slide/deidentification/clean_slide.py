"""A slide without what identifies somebody, and the check that nothing else in it changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wsi.errors import SlideRejected
from wsi.records.slides import Inspection, Removed
from wsi.slide.coding import Codec, Coding
from wsi.slide.deidentification.edits import CleanSource
from wsi.slide.deidentification.jpeg_comments import blank_comments
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.index import SlideIndex, TileExtents


@dataclass(frozen=True, slots=True)
class CleanFile:
    number: int  #: its place among the slide's files
    name: str  #: "00000.svs"; says nothing
    source: CleanSource


@dataclass(frozen=True, slots=True)
class CleanSlide:
    files: tuple[CleanFile, ...]  #: those that stay, the one that is opened first
    removed: Removed
    salted: bool = False  #: another salt gives other bytes of the same sizes


def check_unharmed(
    before: SlideIndex, read_after: Callable[[], SlideIndex], shifts: NDArray[np.int64] | None = None
) -> None:
    """Raise SlideRejected unless the clean slide's index can be read and agrees on every level. Warnings may go with
    what they are about. `shifts`: the number of bytes by which the tiles of each file moved."""
    harmed = make_deidentification_error("What is left of the slide would be read in another way")
    try:
        after = read_after()
    except SlideRejected as rejected:
        raise harmed from rejected
    if not (_same_facts(before, after) and _same_places(before, after, shifts)):
        raise harmed


def _same_facts(before: SlideIndex, after: SlideIndex) -> bool:
    return _lasting(before.inspection) == _lasting(after.inspection)


def _lasting(inspection: Inspection) -> Inspection:
    """Return the inspection without what cleaning may change. The text that stated the scale may go where another place
    states the same."""
    return replace(inspection, warnings=(), mpp_source=None, mpp_unread=None)


def _bare(coding: Coding) -> Coding:
    """Return the coding without the comments in a JPEG header, which an NDPI's levels keep."""
    if coding.codec is not Codec.JPEG_RESTARTS:
        return coding
    return replace(coding, tables=blank_comments(coding.tables))


def _same_places(before: SlideIndex, after: SlideIndex, shifts: NDArray[np.int64] | None) -> bool:
    if len(before.levels) != len(after.levels):
        return False
    return all(
        (one.info, _bare(one.coding), one.holes) == (other.info, _bare(other.coding), other.holes)
        and all(
            np.array_equal(getattr(one.pieces, part), getattr(other.pieces, part))
            for part in ("first", "files", "sizes")
        )
        and np.array_equal(_shift(one.pieces, shifts), other.pieces.offsets)
        for one, other in zip(before.levels, after.levels, strict=True)
    )


def _shift(pieces: TileExtents, shifts: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return pieces.offsets if shifts is None else pieces.offsets + shifts[pieces.files]
