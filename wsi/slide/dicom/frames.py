"""The places of each frame's bytes in one DICOM file. Source: PS3.5, A.4 (encapsulated pixel data) and 8.2; PS3.3,
C.7.6.3.1.8 (extended offset table)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader, make_truncated_error
from wsi.slide.dicom.elements import ITEM, SEQUENCE_END, read_element
from wsi.slide.tiff import make_damaged_error

MAX_FRAMES: Final = 4_000_000  #: of a file; 500,000 px a side in tiles of 256
MAX_WALK: Final = 8 * 1024**3  #: bytes; what a slide without an index of ours may have at most elsewhere, too
_STARTS: Final = (b"\xff\xd8", b"\xff\x4f")  #: of a JPEG and of a JPEG 2000 code stream


@dataclass(frozen=True, slots=True)
class Frames:
    """The places of each frame's bytes: frame f is the pieces `first[f]` to `first[f + 1]`, as in
    `wsi.slide.index.TileExtents`. Pieces of packed frames are whole items with their headers."""

    first: NDArray[np.int64]  #: [frames + 1]
    offsets: NDArray[np.int64]  #: [pieces] bytes from the file's start
    sizes: NDArray[np.int64]  #: [pieces] bytes

    @property
    def count(self) -> int:
        return len(self.first) - 1


def locate_native_frames(start: int, length: int, size: int, *, frames: int, piece: int, pieces: int) -> Frames:
    """Locate frames that are not packed: one after another from `start`, each of `pieces` pieces of `piece` bytes.
    `size` is the file's. Raises SlideRejected DAMAGED, TRUNCATED."""
    if length < frames * pieces * piece:
        raise make_damaged_error(f"A DICOM file of the slide claims {frames:,} frames, more than its pixels' bytes.")
    if start + length > size:
        raise make_truncated_error()
    offsets = start + piece * np.arange(frames * pieces, dtype=np.int64)
    return Frames(pieces * np.arange(frames + 1, dtype=np.int64), offsets, np.full(frames * pieces, piece, np.int64))


def locate_packed_frames(
    reader: BufferedRangeReader, start: int, frames: int, extended: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
) -> Frames:
    """Locate frames in items: by the extended offset table (offsets and lengths) when there is one, else by the basic
    one, else by walking over all items. Raises SlideRejected DAMAGED, TRUNCATED, TOO_LARGE_FOR_FORMAT."""
    table = read_element(reader, start, implicit=True)
    if table.tag != ITEM or table.length < 0:
        raise make_damaged_error("The pixels in a DICOM file of the slide do not begin with a table of their offsets.")
    base = table.start + table.length
    if base > reader.size:
        raise make_truncated_error()
    if extended is not None:
        return _read_extended_table(reader.size, base, *extended)
    if table.length == 4 * frames:
        starts = base + np.frombuffer(reader.read(table.start, table.length), "<u4").astype(np.int64)
        if starts[0] == base and (np.diff(starts) > 8).all():  # More than 4 GiB wraps around.
            return _one_each(starts, np.diff(starts, append=_frame_end(reader, int(starts[-1]))))
    return _group_items(*_walk_items(reader, base, frames), frames)


def _read_extended_table(size: int, base: int, offsets: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> Frames:
    """Locate frames by the extended offset table. Each is one item (PS3.3 allows no other); lengths are without its
    padding."""
    if max(int(offsets.max()), int(lengths.max())) > size:
        raise make_truncated_error()
    starts, sizes = base + offsets.astype(np.int64), 8 + lengths.astype(np.int64)
    if (starts + sizes > size).any():
        raise make_truncated_error()
    return _one_each(starts, sizes)


def _item_end(reader: BufferedRangeReader, at: int) -> int | None:
    """Return where the item at `at` ends; None where no item starts."""
    if at + 8 > reader.size:
        raise make_truncated_error()
    item = read_element(reader, at, implicit=True)
    if item.tag != ITEM or item.length < 0:
        return None
    if item.start + item.length > reader.size:
        raise make_truncated_error()
    return item.start + item.length


def _frame_end(reader: BufferedRangeReader, last: int) -> int:
    """Return the end of the last frame, which no further offset marks."""
    end = _item_end(reader, last)
    if end is None:
        raise make_damaged_error("The offsets of the frames in a DICOM file of the slide lead to something else.")
    while end + 8 <= reader.size and (further := _item_end(reader, end)) is not None:
        end = further
    return end


def _walk_items(
    reader: BufferedRangeReader, base: int, frames: int
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return the starts and sizes of all items, and 1 for each one that begins a code stream."""
    starts, sizes, begins = array("q"), array("q"), array("b")
    at = base
    while at < reader.size:
        start, item = at, read_element(reader, at, implicit=True)
        if item.tag == SEQUENCE_END:
            break
        if item.tag != ITEM or item.length < 0 or len(starts) == MAX_FRAMES:
            raise make_damaged_error("The pixels in a DICOM file of the slide are cut into something else than frames.")
        at = item.start + item.length
        if at > reader.size:
            raise make_truncated_error()
        if at - base > MAX_WALK:
            raise SlideRejected(
                RejectReason.TOO_LARGE_FOR_FORMAT,
                "The slide's DICOM files do not say where their frames lie, and are too large to be searched: write "
                "them with an offset table.",
            )
        starts.append(start)
        sizes.append(at - start)
        begins.append(item.length > 1 and reader.read(item.start, 2) in _STARTS)
    return starts, sizes, begins


def _group_items(
    starts: Sequence[int],
    sizes: Sequence[int],
    begins: Sequence[int],
    frames: int,
) -> Frames:
    """Group items into frames: one each, or by where code streams begin."""
    offsets, lengths = np.array(starts, np.int64), np.array(sizes, np.int64)
    if len(offsets) == frames:
        return _one_each(offsets, lengths)
    first = np.zeros(1, np.int64) if frames == 1 else np.flatnonzero(np.array(begins, bool))
    if len(first) != frames or not len(offsets) or first[0] != 0:
        raise make_damaged_error(
            f"A DICOM file of the slide claims {frames:,} frames and holds {min(len(offsets), len(first)):,}."
        )
    return Frames(np.append(first, len(offsets)).astype(np.int64), offsets, lengths)


def _one_each(offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> Frames:
    return Frames(np.arange(len(offsets) + 1, dtype=np.int64), offsets, sizes)


def join_frames(parts: Sequence[Frames]) -> Frames:
    """Return the frames of `parts` one after another. The caller must know which file each piece is in."""
    pieces = np.cumsum([0, *(len(part.offsets) for part in parts)])
    first = np.concatenate([part.first[:-1] + at for part, at in zip(parts, pieces, strict=False)])
    return Frames(
        np.append(first, pieces[-1]).astype(np.int64),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate([part.sizes for part in parts]),
    )
