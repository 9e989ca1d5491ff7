"""Where each frame lies in the picture, when the file says so frame by frame (TILED_SPARSE)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.slide.dicom import elements
from wsi.slide.dicom.elements import ITEM, SEQUENCE_END, Element, inside
from wsi.slide.dicom.passage import Passage
from wsi.slide.tiff import damaged

_MAX_TEXT = 64  #: bytes of a number or an identifier


@dataclass(frozen=True, slots=True)
class Positions:
    """What the groups of each frame say. A frame without a place has column and row 0."""

    columns: NDArray[np.int64]  #: [frames] px, from 1
    rows: NDArray[np.int64]  #: [frames] px, from 1
    planes: int  #: different heights of focus
    paths: int  #: different optical paths
    spacing: tuple[float, float] | None  #: mm between rows and between columns, if all frames have the same


def read_positions(passage: Passage, groups: Element, frames: int, *, implicit: bool) -> tuple[Positions, int]:
    """Also where the element after `groups` starts. Raises SlideRejected DAMAGED, TRUNCATED."""
    places = {elements.COLUMN_POSITION: array("q"), elements.ROW_POSITION: array("q")}
    texts: dict[int, set[bytes]] = {
        elements.Z_OFFSET: set(),
        elements.OPTICAL_PATH_IDENTIFIER: set(),
        elements.PIXEL_SPACING: set(),
    }
    count, end = 0, groups.start
    for depth, inner in inside(passage, groups, implicit=implicit):
        end = inner.start
        if depth == 1 and inner.tag == ITEM:
            count += 1
            if count > frames:
                raise damaged(f"A DICOM file of the slide describes more frames than the {frames:,} it claims.")
            for values in places.values():
                values.append(0)
        elif depth == 1 and inner.tag != SEQUENCE_END:
            raise damaged("The description of the frames in a DICOM file of the slide is damaged.")
        elif inner.tag in places:
            if inner.length != 4:
                raise damaged("A frame of the slide's DICOM files has no readable place.")
            places[inner.tag][-1] = int.from_bytes(passage.read(inner.start, 4), "little", signed=True)
        elif inner.tag in texts and 0 <= inner.length <= _MAX_TEXT:
            texts[inner.tag].add(passage.read(inner.start, inner.length).strip(b" \0"))
    if count != frames:
        raise damaged(f"A DICOM file of the slide describes {count:,} of its {frames:,} frames.")
    columns, rows = (np.array(values, np.int64) for values in places.values())
    spacings = texts[elements.PIXEL_SPACING]
    found = Positions(
        columns,
        rows,
        planes=len(texts[elements.Z_OFFSET]),
        paths=len(texts[elements.OPTICAL_PATH_IDENTIFIER]),
        spacing=spacing(spacings.pop().decode("ascii", "replace").split("\\")) if len(spacings) == 1 else None,
    )
    known = groups.length != elements.UNDEFINED
    return found, groups.start + groups.length if known else end


def spacing(values: list[str]) -> tuple[float, float] | None:
    """(mm between rows, mm between columns) of a PixelSpacing; None for what is none."""
    try:
        down, across = (float(value) for value in values)
    except ValueError:
        return None
    return (down, across) if 0 < down < 1e3 and 0 < across < 1e3 else None
