"""What travels from stage to stage: EncodedTile -> DecodedTile -> Batch -> Outputs -> ShardResult."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.quality import unmeasured
from wsi.slide.slide import RGB


@dataclass(frozen=True, slots=True)
class DecodedTile:
    """One tile of the file."""

    index: int  #: row-major in the level's tile grid
    pixels: RGB | TileUnreadable


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Model tiles in the one shape that the model runs at. Rows past `len(tiles)` are padding."""

    tiles: NDArray[np.int32]  #: [n <= batch] tile numbers of the plan
    pixels: NDArray[np.uint8]  #: [batch, level_side_y, level_side, 3] RGB, px of the level as decoded
    unreadable: Mapping[int, str]  #: tile number -> reason, of those met since the last batch
    quality: NDArray[np.float32] = field(default_factory=unmeasured)  #: [n, 4] of `wsi.quality`, once measured

    @property
    def padded(self) -> int:
        return len(self.pixels) - len(self.tiles) if len(self.tiles) else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    tiles: NDArray[np.int32]  #: [n] tile numbers of the plan
    scores: NDArray[np.float32]  #: [n, columns of the card]
    quality: NDArray[np.float32]  #: [n, 4] of `wsi.quality`
    unreadable: Mapping[int, str]
    padded: int  #: rows computed for nothing
    seconds: float  #: in the model

    @property
    def count(self) -> int:
        return len(self.tiles) + len(self.unreadable)
