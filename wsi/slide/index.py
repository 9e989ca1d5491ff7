"""The index of a slide that is read natively: where each tile of each level lies. Made from the directories once, it
travels with the plan, so that a worker's first request is for tiles."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wsi.records.slides import Inspection, LevelInfo

_MAGIC = b"tessera-index-1\n"


@dataclass(frozen=True, slots=True)
class LevelIndex:
    info: LevelInfo
    photometric: int  #: of the container: 2 RGB, 6 YCbCr
    tables: bytes  #: what JPEGTables adds to each tile
    offsets: NDArray[np.int64]  #: [rows * columns] of each tile in the file, row-major
    counts: NDArray[np.int64]  #: [rows * columns] bytes; 0 is a missing tile


@dataclass(frozen=True, slots=True)
class SlideIndex:
    etag: str  #: of the file that it was made from
    size: int  #: bytes of that file
    inspection: Inspection
    levels: tuple[LevelIndex, ...]

    def to_bytes(self) -> bytes:
        """Tiles mostly follow each other, so offsets are kept as gaps: 1,000,000 tiles take about 2 MB."""
        head = {
            "etag": self.etag,
            "size": self.size,
            "inspection": self.inspection.as_json(),
            "levels": [
                {
                    "photometric": level.photometric,
                    "tables": base64.b64encode(level.tables).decode(),
                    "tiles": len(level.offsets),
                }
                for level in self.levels
            ],
        }
        text = json.dumps(head).encode()
        arrays = [array for level in self.levels for array in (_gaps(level), level.counts)]
        body = b"".join((struct.pack("<I", len(text)), text, *(array.astype("<i8").tobytes() for array in arrays)))
        return _MAGIC + zlib.compress(body, 6)

    @staticmethod
    def from_bytes(data: bytes) -> SlideIndex | None:
        """None for an index that another version wrote: the file's own directories say the same. Raises ValueError or
        zlib.error for one that is damaged."""
        if not data.startswith(_MAGIC):
            return None
        body = zlib.decompress(data[len(_MAGIC) :])
        start = 4 + struct.unpack_from("<I", body)[0]
        head: dict[str, Any] = json.loads(body[4:start])
        inspection = Inspection.from_json(head["inspection"])
        levels: list[LevelIndex] = []
        for info, level in zip(inspection.levels, head["levels"], strict=True):
            tiles = level["tiles"]
            gaps, counts = np.frombuffer(body, "<i8", 2 * tiles, start).reshape(2, tiles).astype(np.int64)
            start += 16 * tiles
            offsets = np.cumsum(gaps) + np.cumsum(counts) - counts
            levels.append(LevelIndex(info, level["photometric"], base64.b64decode(level["tables"]), offsets, counts))
        return SlideIndex(head["etag"], head["size"], inspection, tuple(levels))


def _gaps(level: LevelIndex) -> NDArray[np.int64]:
    """Bytes between the end of the tile before and the start of each tile."""
    ends = level.offsets + level.counts
    return level.offsets - np.concatenate(([0], ends[:-1]))
