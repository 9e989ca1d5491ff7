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


@dataclass(frozen=True, slots=True)
class Frames:
    """Frame f is the pieces `first[f]` to `first[f + 1]`. See `wsi.slide.index.Pieces`. Pieces of packed frames are
    whole items with their headers."""

    first: NDArray[np.int64]  #: [frames + 1]
    offsets: NDArray[np.int64]  #: [pieces] bytes from the file's start
    sizes: NDArray[np.int64]  #: [pieces] bytes

    @property
    def count(self) -> int:
        return len(self.first) - 1


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
        return _extended(passage.size, base, *extended)
    if table.length == 4 * frames:
        starts = base + np.frombuffer(passage.read(table.start, table.length), "<u4").astype(np.int64)
        if starts[0] == base and (np.diff(starts) > 8).all():  # More than 4 GiB wraps around.
            return _one_each(starts, np.diff(starts, append=_frame_end(passage, int(starts[-1]))))
    return _grouped(*_walked(passage, base, frames), frames)


def _extended(size: int, base: int, offsets: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> Frames:
    """Each frame is one item (PS3.3 allows no other); lengths are without its padding."""
    if max(int(offsets.max()), int(lengths.max())) > size:
        raise cut_short()
    starts, sizes = base + offsets.astype(np.int64), 8 + lengths.astype(np.int64)
    if (starts + sizes > size).any():
        raise cut_short()
    return _one_each(starts, sizes)


def _item_end(passage: Passage, at: int) -> int | None:
    """None where no item starts."""
    if at + 8 > passage.size:
        raise cut_short()
    item = element(passage, at, implicit=True)
    if item.tag != ITEM or item.length < 0:
        return None
    if item.start + item.length > passage.size:
        raise cut_short()
    return item.start + item.length


def _frame_end(passage: Passage, last: int) -> int:
    """Of the last frame, whose items no offset ends."""
    end = _item_end(passage, last)
    if end is None:
        raise damaged("The offsets of the frames in a DICOM file of the slide lead to something else.")
    while end + 8 <= passage.size and (further := _item_end(passage, end)) is not None:
        end = further
    return end


def _walked(passage: Passage, base: int, frames: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """(start, size, 1 if it begins a code stream) of every item."""
    starts, sizes, begins = array("q"), array("q"), array("b")
    at = base
    while at < passage.size:
        start, item = at, element(passage, at, implicit=True)
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
        starts.append(start)
        sizes.append(at - start)
        begins.append(item.length > 1 and passage.read(item.start, 2) in _STARTS)
    return starts, sizes, begins


def _grouped(
    starts: Sequence[int],
    sizes: Sequence[int],
    begins: Sequence[int],
    frames: int,
) -> Frames:
    """Items to frames: one each, or by how code streams begin."""
    offsets, lengths = np.array(starts, np.int64), np.array(sizes, np.int64)
    if len(offsets) == frames:
        return _one_each(offsets, lengths)
    first = np.zeros(1, np.int64) if frames == 1 else np.flatnonzero(np.array(begins, bool))
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
