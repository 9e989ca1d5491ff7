"""A slide without what identifies somebody: decided on its directories and headers alone, and checked against itself
before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice, Inspection, Removed
from wsi.slide.coding import Codec, Coding
from wsi.slide.deidentification.jpeg_comments import without_comments
from wsi.slide.deidentification.overwrites import OverwrittenSource
from wsi.slide.deidentification.refusing import can_not
from wsi.slide.deidentification.tiff_file import clean_tiff
from wsi.slide.files import FoundSlide, find_slide
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.registry import read_index
from wsi.slide.recognition import Container
from wsi.slide.source import SlideSource
from wsi.slide.windows import EndsHeld

#: What the native reader says of files that another one reads: there is no place here to clean them in.
_ELSEWHERE: Final = frozenset(
    {RejectReason.UNSUPPORTED_FORMAT, RejectReason.UNSUPPORTED_COMPRESSION, RejectReason.DAMAGED}
)


@dataclass(frozen=True, slots=True)
class CleanFile:
    number: int  #: its place among the slide's files
    name: str  #: "00000.svs"; says nothing
    source: OverwrittenSource


@dataclass(frozen=True, slots=True)
class CleanSlide:
    files: tuple[CleanFile, ...]  #: those that stay, the one that is opened first
    removed: Removed


def clean(source: SlideSource, *, choice: Choice | None = None, salt: bytes) -> CleanSlide:
    """The same slide and the same `salt` give the same bytes; UIDs can not be traced back without it. Every level has
    the same tiles at the same places as before, and the same scale. Raises SlideRejected: CAN_NOT_DEIDENTIFY for what
    only OpenSlide reads, and what opening the slide raises; SourceError."""
    found = find_slide(source)
    if found.container is Container.OTHER:
        raise can_not("The slide is of a format that keeps identifiers in places of its own")
    if found.container is Container.DICOM:
        from wsi.slide.deidentification.dicom_series import clean_series  # pydicom takes a third of a second

        return clean_series(found.files, choice=choice, salt=salt)
    return _clean_tiff(found, choice)


def _clean_tiff(found: FoundSlide, choice: Choice | None) -> CleanSlide:
    held = EndsHeld(found.file)
    try:
        before = read_index(held, choice)
    except SlideRejected as rejected:
        if rejected.reason not in _ELSEWHERE:
            raise
        raise can_not("The slide can be read only in ways that do not tell where its identifiers lie") from rejected
    suffix, overwrites, removed = clean_tiff(held, choice)
    check_unharmed(before, read_index(OverwrittenSource(held, overwrites)))
    named = CleanFile(found.opened, f"00000{suffix}", OverwrittenSource(found.file, overwrites))
    return CleanSlide((named,), replace(removed, files=len(found.files) - 1))


def check_unharmed(before: SlideIndex, after: SlideIndex) -> None:
    """Raises SlideRejected unless both say the same of every level. Warnings may go with what they speak of."""
    if not (_same_facts(before, after) and _same_places(before, after)):
        raise can_not("What is left of the slide would be read in another way")


def _same_facts(before: SlideIndex, after: SlideIndex) -> bool:
    return _lasting(before.inspection) == _lasting(after.inspection)


def _lasting(inspection: Inspection) -> Inspection:
    """Without which text said the scale, as that may go where another place says the same."""
    return replace(inspection, warnings=(), mpp_source=None, mpp_unread=None)


def _bare(coding: Coding) -> Coding:
    """NDPI keeps the headers of its JPEGs, with their comments."""
    if coding.codec is not Codec.JPEG_RESTARTS:
        return coding
    return replace(coding, tables=without_comments(coding.tables))


def _same_places(before: SlideIndex, after: SlideIndex) -> bool:
    return len(before.levels) == len(after.levels) and all(
        (one.info, _bare(one.coding), one.holes) == (other.info, _bare(other.coding), other.holes)
        and all(
            np.array_equal(getattr(one.pieces, part), getattr(other.pieces, part))
            for part in ("first", "files", "offsets", "sizes")
        )
        for one, other in zip(before.levels, after.levels, strict=True)
    )
