"""What a reader offers, whichever format stands behind it. Levels are addressed in their own pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.records.slides import Inspection
from wsi.slide.coding import Reduction

if TYPE_CHECKING:  # both are made of what stands here
    from wsi.slide.decoding import TileDecoding
    from wsi.slide.encoded import EncodedTiles

RGB = NDArray[np.uint8]  #: [height, width, 3]
WHITE = 255  #: grey value of clear glass


@dataclass(frozen=True, slots=True)
class EncodedTile:
    """One tile of the file as it lies there. Fetching is separate from decoding so that each can be timed alone."""

    level: int
    index: int  #: row-major in the level's tile grid
    pieces: tuple[bytes, ...]  #: as `Pieces` lists them; none of a missing tile, nor where decoding fetches (OpenSlide)


class SlideReader(Protocol):
    """An open slide. `inspection` has no tissue yet; `wsi.tissue` adds it."""

    @property
    def inspection(self) -> Inspection: ...

    def ordered(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        """These tiles in the order in which `runs` and `encoded` give them: the file's own."""
        ...

    def runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        """The asked tiles, by coalesced range reads with bounded bytes in flight."""
        ...

    def encoded(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        """`runs`, tile by tile."""
        ...

    def decoding(self, level: int) -> TileDecoding | None:
        """How `decode` does it, for a process that holds no slide; None when only this reader can decode."""
        ...

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        """[ceil(tile_height / reduction), ceil(tile_width / reduction), 3], whole tiles at the edges too. Reduced
        pixels are averages, or the codec's own smaller picture. `fill` is the grey value of what was never scanned:
        transparent pixels, and tiles that the scanner left out. Raises TileUnreadable; never paints white over what
        can not be read. Safe to call from several threads."""
        ...

    def reduces(self, level: int) -> bool:
        """Whether decoding the level's tiles smaller costs less than decoding them whole, as JPEG's does."""
        ...

    def level_bytes(self, level: int) -> int:
        """That all tiles of the level take in the file; about so many where only OpenSlide knows."""
        ...

    def same_bytes(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        """[n] for each tile one of `tiles` that has the very same bytes of the file, often the tile itself: one decode
        serves all. Some writers store the empty tile once."""
        ...

    def index_bytes(self) -> bytes | None:
        """The parsed index, for shipping with the plan; `open_slide(source, index=...)` then needs no request.
        None when the reader has none (OpenSlide)."""
        ...

    def close(self) -> None: ...
