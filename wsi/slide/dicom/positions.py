"""The place of each frame in the image, when the file states it frame by frame (TILED_SPARSE)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.slide.dicom import elements
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader
from wsi.slide.dicom.elements import ITEM, SEQUENCE_END, Element, ElementLimit, walk_elements
from wsi.slide.dicom.fields import decode_text
from wsi.slide.tiff import make_damaged_error

_MAX_TEXT = 64  #: bytes of a number or an identifier


@dataclass(frozen=True, slots=True)
class Positions:
    """The places, heights and optical paths that the groups of each frame state. A frame without a place has column and
    row 0."""

    columns: NDArray[np.int64]  #: [frames] px, from 1
    rows: NDArray[np.int64]  #: [frames] px, from 1
    heights: NDArray[np.float64]  #: [frames] um of the focus above the glass; 0 where none is stated
    paths: NDArray[np.int32]  #: [frames] into `identifiers`; -1 where none is stated
    identifiers: tuple[str, ...]  #: of optical paths, as they come
    spacing: tuple[float, float] | None  #: mm between rows and between columns, if all frames have the same


def read_positions(
    reader: BufferedRangeReader, groups: Element, frames: int, *, implicit: bool
) -> tuple[Positions, int]:
    """Return the positions of all frames, and where the element after `groups` starts. Raises SlideRejected DAMAGED,
    TRUNCATED."""
    places = {elements.COLUMN_POSITION: array("q"), elements.ROW_POSITION: array("q")}
    # Each text is stored once, and its number for each frame.
    texts: dict[int, dict[bytes, int]] = {elements.Z_OFFSET: {}, elements.OPTICAL_PATH_IDENTIFIER: {}}
    said = {tag: array("i") for tag in texts}
    spacings: set[bytes] = set()
    count, end = 0, groups.start
    for depth, inner in walk_elements(reader, groups, ElementLimit.of_frames(frames), implicit=implicit):
        end = inner.start
        if depth == 1 and inner.tag == ITEM:
            count += 1
            if count > frames:
                raise make_damaged_error(
                    f"A DICOM file of the slide describes more frames than the {frames:,} it claims."
                )
            for values in places.values():
                values.append(0)
            for numbers in said.values():
                numbers.append(-1)
        elif depth == 1 and inner.tag != SEQUENCE_END:
            raise make_damaged_error("The description of the frames in a DICOM file of the slide is damaged.")
        elif inner.tag in places:
            if inner.length != 4:
                raise make_damaged_error("A frame of the slide's DICOM files has no readable place.")
            places[inner.tag][-1] = int.from_bytes(reader.read(inner.start, 4), "little", signed=True)
        elif inner.tag in texts and 0 <= inner.length <= _MAX_TEXT:
            known = texts[inner.tag]
            said[inner.tag][-1] = known.setdefault(_text(reader, inner), len(known))
        elif inner.tag == elements.PIXEL_SPACING and 0 <= inner.length <= _MAX_TEXT:
            spacings.add(_text(reader, inner))
    if count != frames:
        raise make_damaged_error(f"A DICOM file of the slide describes {count:,} of its {frames:,} frames.")
    columns, rows = (np.array(values, np.int64) for values in places.values())
    heights = np.array([*map(_parse_height, texts[elements.Z_OFFSET]), 0.0])  # -1 is the last
    found = Positions(
        columns,
        rows,
        heights=heights[np.array(said[elements.Z_OFFSET], np.int64)],
        paths=np.array(said[elements.OPTICAL_PATH_IDENTIFIER], np.int32),
        identifiers=tuple(decode_text(text) for text in texts[elements.OPTICAL_PATH_IDENTIFIER]),
        spacing=parse_spacing(spacings.pop().decode("ascii", "replace").split("\\")) if len(spacings) == 1 else None,
    )
    return found, groups.start + groups.length if groups.length != elements.UNDEFINED else end


def _text(reader: BufferedRangeReader, inner: Element) -> bytes:
    return reader.read(inner.start, inner.length).strip(b" \0")


def _parse_height(text: bytes) -> float:
    try:
        height = float(text)
    except ValueError:
        height = math.nan
    if not math.isfinite(height):
        raise make_damaged_error("A frame of the slide's DICOM files has no readable height of focus.")
    return height


def parse_spacing(values: Sequence[str]) -> tuple[float, float] | None:
    """Return (mm between rows, mm between columns) of a PixelSpacing; None if it is not valid."""
    try:
        down, across = (float(value) for value in values)
    except ValueError:
        return None
    return (down, across) if 0 < down < 1e3 and 0 < across < 1e3 else None
