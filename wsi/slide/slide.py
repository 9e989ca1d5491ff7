"""The port that every reader of a slide implements, whatever the format. Levels are addressed in their own pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from wsi.records.slides import Inspection
from wsi.slide.coding import Reduction

if TYPE_CHECKING:  # both import this module
    from wsi.slide.decoding import TileDecoding
    from wsi.slide.encoded import EncodedTiles

RGB = NDArray[np.uint8]  #: [height, width, 3]
WHITE = 255  #: grey value of clear glass


@dataclass(frozen=True, slots=True)
class EncodedTile:
    """One tile as the file stores it. Fetching is separate from decoding so that each can be timed alone."""

    level: int
    index: int  #: row-major in the level's tile grid
    pieces: tuple[
        bytes, ...
    ]  #: as `TileExtents` lists them; none of a missing tile, nor where decoding fetches (OpenSlide)


class SlideReader(Protocol):
    """An open slide. `inspection` has no tissue yet; `wsi.inspection.tissue` adds it."""

    @property
    def inspection(self) -> Inspection: ...

    def sort_tiles(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return these tiles in the order in which `read_runs` and `read_tiles` yield them: the file's own."""
        ...

    def read_runs(self, level: int, tiles: NDArray[np.int64]) -> Iterator[EncodedTiles]:
        """Return the requested tiles, by coalesced range reads with bounded bytes in flight."""
        ...

    def read_tiles(self, level: int, tiles: Sequence[int]) -> Iterator[EncodedTile]:
        """Return the tiles of `read_runs` one by one."""
        ...

    def find_decoding(self, level: int) -> TileDecoding | None:
        """Return what a process without the slide needs to decode the level's tiles; None when only this reader can
        decode."""
        ...

    def decode(self, tile: EncodedTile, reduction: Reduction = 1, fill: int = WHITE) -> RGB:
        """Return [ceil(tile_height / reduction), ceil(tile_width / reduction), 3], whole tiles at the edges too.
        Reduced pixels are averages, or the codec's own smaller image. `fill` is the grey value of what was never
        scanned: transparent pixels, and tiles that the scanner left out. Raises TileUnreadable; never paints white over
        what cannot be read. Safe to call from several threads."""
        ...

    def reduces(self, level: int) -> bool:
        """Return whether decoding the level's tiles smaller costs less than decoding them whole, as JPEG's does."""
        ...

    def estimate_level_bytes(self, level: int) -> int:
        """Return the encoded size of the level in bytes; an estimate for formats that only OpenSlide reads."""
        ...

    def map_duplicates(self, level: int, tiles: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return [n]: for each tile one of `tiles` that has exactly the same bytes of the file, often the tile itself,
        so that one decode serves all. Some writers store the empty tile once."""
        ...

    def serialize_index(self) -> bytes | None:
        """Return the parsed index, for shipping with the plan; `open_slide(source, index=...)` then needs no request.
        None when the reader has none (OpenSlide)."""
        ...

    def close(self) -> None: ...
