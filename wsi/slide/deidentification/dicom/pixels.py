"""The pixels of one DICOM file: frames stay, and everything between and behind them goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.slide.coding import Codec
from wsi.slide.deidentification.edits import Edit
from wsi.slide.deidentification.overwrites import compute_gaps, merge_ranges
from wsi.slide.deidentification.tile_comments import locate_tile_comments
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader, make_truncated_error
from wsi.slide.dicom.elements import ITEM, OFFSETS, SEQUENCE_END, UNDEFINED, Element, read_element
from wsi.slide.dicom.frames import Frames
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import make_damaged_error

_HEAD: Final = 8  #: bytes of an item's tag and length
_END: Final = b"\xfe\xff\xdd\xe0\0\0\0\0"
_ITEM: Final = b"\xfe\xff\x00\xe0"


@dataclass(slots=True)
class PixelCleaner:
    reader: BufferedRangeReader
    source: RangeSource
    frames: Frames  #: all that the file's pixels hold, whatever was chosen
    codec: Codec
    changed: int = 0

    def matches_frames(self, found: Element) -> bool:
        """Return whether an extended table of offsets or lengths says nothing but where the frames are."""
        if found.length != 8 * self.frames.count:
            return False
        values = np.frombuffer(self.reader.read(found.start, found.length), "<u8").astype(np.int64)
        if found.tag == OFFSETS:
            starts = self.frames.offsets[self.frames.first[:-1]]
            return bool(0 <= values[0] < self.reader.size and np.array_equal(np.diff(values), np.diff(starts)))
        spare = np.add.reduceat(self.frames.sizes, self.frames.first[:-1]) - _HEAD - values
        return bool(np.all((spare == 0) | (spare == 1)))

    def clean(self, found: Element, edits: list[Edit]) -> int:
        """Append the edits of the pixels, and return where they end. Raises SlideRejected, SourceError."""
        start, size, held = self.frames.offsets, self.frames.sizes, len(edits)
        if found.vr and self.reader.read(found.start - 6, 2) != b"\0\0":  # which no reader looks at
            edits.append(Edit(ByteRange(found.start - 6, found.start - 4)))
        starts, ends = merge_ranges(start, start + size + size % 2)
        packed = found.length == UNDEFINED
        end = self.clean_items(found, starts, ends, edits) if packed else self.clean_native(found, starts, ends, edits)
        if packed:
            first = self.frames.first
            frames = start[first[:-1]], (start + size)[first[1:] - 1]
            places = locate_tile_comments(self.source, self.codec, *frames, in_items=True)
            edits.extend(map(Edit, places))
        self.changed = len(edits) - held
        return end

    def clean_native(
        self, found: Element, starts: NDArray[np.int64], ends: NDArray[np.int64], edits: list[Edit]
    ) -> int:
        end = found.start + found.length
        if end > self.reader.size:
            raise make_truncated_error()
        edits.extend(map(Edit, self.list_gaps(found.start, starts, np.minimum(ends, end), end)))
        return end

    def clean_items(self, found: Element, starts: NDArray[np.int64], ends: NDArray[np.int64], edits: list[Edit]) -> int:
        table = read_element(self.reader, found.start, implicit=True)
        base = table.start + table.length
        if table.length and not self.matches_offsets(table, base):
            edits.append(Edit(ByteRange(found.start, base), _ITEM + bytes(4)))
        last = int(ends[-1])
        edits.extend(map(_fill_gap, self.list_gaps(base, starts, ends, last)))
        behind = last
        while (item := read_element(self.reader, behind, implicit=True)).tag == ITEM and item.length >= 0:
            behind = item.start + item.length
        if item.tag != SEQUENCE_END:
            raise make_damaged_error("The pixels in a DICOM file of the slide end in something else than they should.")
        if behind > last or item.length:
            edits.append(
                Edit(ByteRange(last, item.start), SEQUENCE_END.to_bytes(4, "big")[1::-1] + b"\xdd\xe0" + bytes(4))
            )
        return item.start

    def matches_offsets(self, table: Element, base: int) -> bool:
        """Return whether the basic table says nothing but where the frames are."""
        if table.length != 4 * self.frames.count:
            return False
        values = np.frombuffer(self.reader.read(table.start, table.length), "<u4").astype(np.int64)
        return np.array_equal(values, (self.frames.offsets[self.frames.first[:-1]] - base) % 2**32)

    def list_gaps(self, start: int, starts: NDArray[np.int64], ends: NDArray[np.int64], end: int) -> list[ByteRange]:
        """Return the ranges between `start` and `end` that are in no frame."""
        if starts[0] < start:
            raise make_damaged_error("The frames in a DICOM file of the slide begin before its pixels.")
        gaps = compute_gaps(starts - start, ends - start, end - start)
        return [ByteRange(start + gap.start, start + gap.end) for gap in gaps]


def _fill_gap(gap: ByteRange) -> Edit:
    """Return an item of zeros: offsets behind the gap must still be right, and readers without offsets go on."""
    return Edit(gap, (_ITEM + (gap.size - _HEAD).to_bytes(4, "little")).ljust(gap.size, b"\0"))
