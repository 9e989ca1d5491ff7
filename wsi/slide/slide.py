"""What a reader offers, whichever format stands behind it. Levels are addressed in their own pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.records.slides import Inspection

RGB = NDArray[np.uint8]  #: [height, width, 3]


@dataclass(frozen=True, slots=True)
class EncodedTile:
    """One tile of the file as it lies there. Fetching is separate from decoding so that each can be timed alone."""

    level: int
    index: int  #: row-major in the level's tile grid
    data: bytes  #: empty for a missing tile, and for readers that fetch while they decode (OpenSlide)


class SlideReader(Protocol):
    """An open slide. `inspection` has no tissue yet; `wsi.tissue` adds it."""

    @property
    def inspection(self) -> Inspection: ...

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        """The asked tiles in the file's own order, by coalesced range reads with bounded bytes in flight."""
        ...

    def decode(self, tile: EncodedTile) -> RGB:
        """[tile_height, tile_width, 3], full size at the edges too. Raises TileUnreadable; never paints white.
        Safe to call from several threads."""
        ...

    def index_bytes(self) -> bytes | None:
        """The parsed index, for shipping with the plan; `open_slide(source, index=...)` then needs no request.
        None when the reader has none (OpenSlide)."""
        ...

    def close(self) -> None: ...
