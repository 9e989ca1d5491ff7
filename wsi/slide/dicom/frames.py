"""Where the bytes of each frame of one DICOM file lie. Source: PS3.5, A.4 (encapsulated pixel data) and 8.2; PS3.3,
C.7.6.3.1.8 (extended offset table)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.dicom.elements import ITEM, SEQUENCE_END, element
from wsi.slide.dicom.passage import Passage, cut_short
from wsi.slide.tiff import damaged

MAX_FRAMES: Final = 4_000_000  #: of a file; 500,000 px a side in tiles of 256
MAX_WALK: Final = 8 * 1024**3  #: bytes; what a slide without an index of ours may have at most elsewhere, too
_STARTS: Final = (b"\xff\xd8", b"\xff\x4f")  #: of a JPEG and of a JPEG 2000 code stream
_COMPARED: Final = 256  #: frames at the beginning whose offsets are held against the items, when those are held anyway


@dataclass(frozen=True, slots=True)
class Frames:
    """Frame f is the pieces `first[f]` to `first[f + 1]`. See `wsi.slide.index.Pieces`."""

    first: NDArray[np.int64]  #: [frames + 1]
    offsets: NDArray[np.int64]  #: [pieces] bytes from the file's start
    sizes: NDArray[np.int64]  #: [pieces] bytes


def native_frames(start: int, length: int, size: int, *, frames: int, piece: int, pieces: int) -> Frames:
    """Frames that are not packed: one after another from `start`, each of `pieces` pieces of `piece` bytes. `size` is
    the file's. Raises SlideRejected DAMAGED, TRUNCATED."""
    if length < frames * pieces * piece:
        raise damaged(f"A DICOM file of the slide claims {frames:,} frames, more than its pixels' bytes.")
    if start + length > size:
        raise cut_short()
    offsets = start + piece * np.arange(frames * pieces, dtype=np.int64)
    return Frames(pieces * np.arange(frames + 1, dtype=np.int64), offsets, np.full(frames * pieces, piece, np.int64))


def packed_frames(
    passage: Passage, start: int, frames: int, extended: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
) -> Frames:
    """Frames in items: by the extended offset table (offsets and lengths) when there is one, else by the basic one,
    else by walking over all items. Raises SlideRejected DAMAGED, TRUNCATED, TOO_LARGE_FOR_FORMAT."""
    table = element(passage, start, implicit=True)
    if table.tag != ITEM or table.length < 0:
        raise damaged("The pixels in a DICOM file of the slide do not begin with a table of their offsets.")
    base = table.start + table.length
    if base > passage.size:
        raise cut_short()
    if extended is not None:
        return _extended(passage, base, *extended)
    starts = None
    if table.length == 4 * frames:
        starts = base + np.frombuffer(passage.read(table.start, table.length), "<u4").astype(np.int64)
        if starts[0] != base or (np.diff(starts) < 8).any():  # More than 4 GiB wraps around.
            starts = None
    if starts is not None:
        if starts[-1] + 8 > passage.size:
            raise cut_short()
        single = _single(passage, starts)
        if single is not None:
            return single
    return _grouped(*_walked(passage, base, frames), frames, starts)


def _extended(passage: Passage, base: int, offsets: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> Frames:
    """Each frame is one item (PS3.3 allows no other); lengths are without its padding."""
    if max(int(offsets.max()), int(lengths.max())) > passage.size or np.any(
        base + 8 + offsets.astype(np.int64) + lengths.astype(np.int64) > passage.size
    ):
        raise cut_short()
    first = element(passage, base + int(offsets[0]), implicit=True)
    if first.tag != ITEM or first.length < int(lengths[0]):
        raise damaged("The offsets of the frames in a DICOM file of the slide lead to something else.")
    return _one_each(base + 8 + offsets.astype(np.int64), lengths.astype(np.int64))


def _single(passage: Passage, starts: NDArray[np.int64]) -> Frames | None:
    """For frames of one item each, as nearly all are: then the offsets tell the lengths too. None as soon as an item
    ends before its frame does. The first items and the last one are looked at; one in between that ends early leaves
    an item's header inside its frame, which its decoder refuses."""
    sizes = np.diff(starts) - 8
    for frame, size in enumerate(sizes[:_COMPARED]):
        at = int(starts[frame])
        if frame and not passage.holds(at, 8):
            break
        if _item_length(passage, at) != size:
            return None
    last = int(starts[-1])
    length = _item_length(passage, last)
    end = last + 8 + length
    if end > passage.size:
        raise cut_short()
    if end + 8 <= passage.size and element(passage, end, implicit=True).tag == ITEM:
        return None
    return _one_each(starts + 8, np.append(sizes, length))


def _item_length(passage: Passage, at: int) -> int:
    item = element(passage, at, implicit=True)
    if item.tag != ITEM or item.length < 0:
        raise damaged("The offsets of the frames in a DICOM file of the slide lead to something else.")
    return item.length


def _walked(passage: Passage, base: int, frames: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """(start of the value, length, 1 if it begins a code stream) of every item."""
    starts, sizes, begins = array("q"), array("q"), array("b")
    at = base
    while at < passage.size:
        item = element(passage, at, implicit=True)
        if item.tag == SEQUENCE_END:
            break
        if item.tag != ITEM or item.length < 0 or len(starts) == MAX_FRAMES:
            raise damaged("The pixels in a DICOM file of the slide are cut into something else than frames.")
        at = item.start + item.length
        if at > passage.size:
            raise cut_short()
        if at - base > MAX_WALK:
            raise SlideRejected(
                RejectReason.TOO_LARGE_FOR_FORMAT,
                "The slide's DICOM files do not say where their frames lie, and are too large to be searched: write "
                "them with an offset table.",
            )
        starts.append(item.start)
        sizes.append(item.length)
        begins.append(item.length > 1 and passage.read(item.start, 2) in _STARTS)
    return starts, sizes, begins


def _grouped(
    starts: Sequence[int],
    sizes: Sequence[int],
    begins: Sequence[int],
    frames: int,
    table: NDArray[np.int64] | None,
) -> Frames:
    """Items to frames: one each, by the table, or by how code streams begin."""
    offsets, lengths = np.array(starts, np.int64), np.array(sizes, np.int64)
    if len(offsets) == frames:
        return _one_each(offsets, lengths)
    if frames == 1:
        first = np.zeros(1, np.int64)
    elif table is not None:
        first = np.searchsorted(offsets, table + 8)
        if not np.array_equal(offsets[np.minimum(first, len(offsets) - 1)], table + 8):
            raise damaged("The offsets of the frames in a DICOM file of the slide lead to something else.")
    else:
        first = np.flatnonzero(np.array(begins, bool))
    if len(first) != frames or not len(offsets) or first[0] != 0:
        raise damaged(
            f"A DICOM file of the slide claims {frames:,} frames and holds {min(len(offsets), len(first)):,}."
        )
    return Frames(np.append(first, len(offsets)).astype(np.int64), offsets, lengths)


def _one_each(offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> Frames:
    return Frames(np.arange(len(offsets) + 1, dtype=np.int64), offsets, sizes)


def joined(parts: Sequence[Frames]) -> Frames:
    """The frames of `parts` one after another; whose file a piece lies in is the caller's to know."""
    pieces = np.cumsum([0, *(len(part.offsets) for part in parts)])
    first = np.concatenate([part.first[:-1] + at for part, at in zip(parts, pieces, strict=False)])
    return Frames(
        np.append(first, pieces[-1]).astype(np.int64),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate([part.sizes for part in parts]),
    )
