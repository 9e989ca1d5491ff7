"""Batch: file tiles to model tiles in one fixed shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpu_worker.stages.values import Batch, DecodedTile
from wsi.slide.patches import PatchAssembler
from wsi.slide.slide import RGB


def batch(
    decoded: Iterable[DecodedTile],
    assembler: PatchAssembler,
    tiles: NDArray[np.int32],
    *,
    width: int,
    height: int,
    size: int,
) -> Iterator[Batch]:
    """Batches of `size` model tiles of `width` x `height` px. `tiles[i]` is the number of the assembler's box i.

    The tail is padded with zeros, never cut: another batch size changes the last bits of most rows (118 of 128,
    up to 1.5e-3 in fp16), a row's place in the batch does not.
    """
    filling = _Filling((size, height, width, 3))
    for position, content in assembler.without_source():
        if filling.add(int(tiles[position]), content):
            yield filling.take()
    for tile in decoded:
        for position, content in assembler.add(tile.index, tile.pixels):
            if filling.add(int(tiles[position]), content):
                yield filling.take()
    if filling.holds_any:
        yield filling.take()


class _Filling:
    """The batch under construction."""

    def __init__(self, shape: tuple[int, int, int, int]) -> None:
        self._shape = shape
        self._begin()

    def _begin(self) -> None:
        self._pixels = np.zeros(self._shape, np.uint8)
        self._tiles: list[int] = []
        self._unreadable: dict[int, str] = {}

    def add(self, tile: int, content: RGB | str) -> bool:
        """True: the batch is full."""
        if isinstance(content, str):
            self._unreadable[tile] = content
            return False
        self._pixels[len(self._tiles)] = content
        self._tiles.append(tile)
        return len(self._tiles) == len(self._pixels)

    @property
    def holds_any(self) -> bool:
        return bool(self._tiles or self._unreadable)

    def take(self) -> Batch:
        full = Batch(tiles=np.array(self._tiles, np.int32), pixels=self._pixels, unreadable=self._unreadable)
        self._begin()
        return full
