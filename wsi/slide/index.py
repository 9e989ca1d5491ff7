"""The index of a slide that is read natively: the place of each tile of each level. It is made from the directories
once and travels with the plan, so that a worker's first request is for tiles."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wsi.numerics import PARSER_VERSION
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.coding import Coding

_MAGIC: Final = f"tessera-index-{PARSER_VERSION}\n".encode()


@dataclass(frozen=True, slots=True)
class TileExtents:
    """The places of the bytes of a level's tiles. Tile t, row-major, is the pieces `first[t]` to `first[t + 1]`, in
    that order; one without pieces is not in the file. Most formats have one piece a tile; planes, fragments and restart
    slices make several."""

    first: NDArray[np.int64]  #: [tiles + 1]
    files: NDArray[np.int32]  #: [pieces] which of the slide's files
    offsets: NDArray[np.int64]  #: [pieces] bytes from the file's start
    sizes: NDArray[np.int64]  #: [pieces] bytes; 0 is a missing piece

    @staticmethod
    def of_single_pieces(offsets: NDArray[np.int64], sizes: NDArray[np.int64], *, file: int = 0) -> TileExtents:
        """Return the extents of tiles of one piece each, all in the same file."""
        tiles = len(offsets)
        return TileExtents(np.arange(tiles + 1, dtype=np.int64), np.full(tiles, file, np.int32), offsets, sizes)

    def of(self, tile: int) -> range:
        return range(int(self.first[tile]), int(self.first[tile + 1]))

    def locate(self, tile: int) -> list[tuple[int, int, int]]:
        """Return (file, offset, size) of each of the tile's pieces: of one at once, which is eight times as quick, of
        more by slices, since an NDPI tile has 32."""
        begin, end = int(self.first[tile]), int(self.first[tile + 1])
        if end - begin == 1:
            return [(int(self.files[begin]), int(self.offsets[begin]), int(self.sizes[begin]))]
        held = slice(begin, end)
        return list(zip(*(values[held].tolist() for values in (self.files, self.offsets, self.sizes)), strict=True))


@dataclass(frozen=True, slots=True)
class LevelIndex:
    info: LevelInfo
    coding: Coding
    pieces: TileExtents
    #: A tile without pieces was never scanned (DICOM TILED_SPARSE) and is shown as glass; otherwise it is unreadable.
    holes: bool = False

    @property
    def most_bytes(self) -> int:
        """The most bytes that a tile can need: four times its raw pixels and a header; noise in JPEG of quality 100
        takes less than twice."""
        return 4 * 3 * self.info.tile_width * self.info.tile_height + 65_536


@dataclass(frozen=True, slots=True)
class IndexedFile:
    etag: str
    size: int  #: bytes


@dataclass(frozen=True, slots=True)
class SlideIndex:
    files: tuple[IndexedFile, ...]  #: in the order of `SlideSource.files`, as they were when the index was made
    inspection: Inspection
    levels: tuple[LevelIndex, ...]

    def of_file(self, number: int, files: Sequence[IndexedFile]) -> SlideIndex:
        """Return the index of a slide in one file when that file is `number` among `files`."""
        places = (np.full(len(level.pieces.files), number, np.int32) for level in self.levels)
        levels = (
            replace(level, pieces=replace(level.pieces, files=place))
            for level, place in zip(self.levels, places, strict=True)
        )
        return replace(self, files=tuple(files[: number + 1]), levels=tuple(levels))

    def to_bytes(self) -> bytes:
        """Serialize the index. Tiles mostly follow each other, so offsets are stored as gaps: 1,000,000 tiles take
        about 2 MB."""
        head = {
            "files": [(file.etag, file.size) for file in self.files],
            "inspection": self.inspection.as_json(),
            "levels": [
                {
                    "coding": level.coding.as_json(),
                    "holes": level.holes,
                    "tiles": len(level.pieces.first) - 1,
                    "pieces": len(level.pieces.offsets),
                }
                for level in self.levels
            ],
        }
        text = json.dumps(head).encode()
        arrays = [array for level in self.levels for array in _pack(level.pieces)]
        body = b"".join((struct.pack("<I", len(text)), text, *(array.astype("<i8").tobytes() for array in arrays)))
        return _MAGIC + zlib.compress(body, 6)

    @staticmethod
    def from_bytes(data: bytes) -> SlideIndex | None:
        """Return None for an index that another version wrote: the file's own directories say the same. Raises
        ValueError or zlib.error for one that is damaged."""
        if not data.startswith(_MAGIC):
            return None
        try:
            return _read(zlib.decompress(data[len(_MAGIC) :]))
        except (AttributeError, IndexError, KeyError, TypeError, struct.error) as error:
            raise ValueError("The stored index of the slide is damaged.") from error


def _read(body: bytes) -> SlideIndex:
    start = 4 + struct.unpack_from("<I", body)[0]
    head: dict[str, Any] = json.loads(body[4:start])
    inspection = Inspection.from_json(head["inspection"])
    levels: list[LevelIndex] = []
    for info, level in zip(inspection.levels, head["levels"], strict=True):
        tiles, pieces = level["tiles"], level["pieces"]
        numbers = np.frombuffer(body, "<i8", tiles + 3 * pieces, start).astype(np.int64)
        start += 8 * len(numbers)
        unpacked = _unpack(numbers[:tiles], *numbers[tiles:].reshape(3, pieces))
        levels.append(LevelIndex(info, Coding.from_json(level["coding"]), unpacked, level["holes"]))
    files = tuple(IndexedFile(etag, size) for etag, size in head["files"])
    return SlideIndex(files, inspection, tuple(levels))


def _pack(pieces: TileExtents) -> tuple[NDArray[np.int64], ...]:
    """Return the number of pieces of each tile, and of each piece the file, the gap to the end of the piece before, and
    the size."""
    ends = pieces.offsets + pieces.sizes
    gaps = pieces.offsets - np.concatenate((np.zeros(1, np.int64), ends))[: len(ends)]
    return np.diff(pieces.first), pieces.files.astype(np.int64), gaps, pieces.sizes


def _unpack(
    each: NDArray[np.int64], files: NDArray[np.int64], gaps: NDArray[np.int64], sizes: NDArray[np.int64]
) -> TileExtents:
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(each)))
    return TileExtents(first, files.astype(np.int32), np.cumsum(gaps) + np.cumsum(sizes) - sizes, sizes)
