"""The JPEG of one tile of a viewer: the file's own, or put together of tiles of the file, or cut out of an overview.

No tile is ever silently white: what can not be decoded is hatched, at every zoom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.deep_zoom import Box, FileTile, file_tiles
from wsi.errors import TileUnreadable
from wsi.records.slides import LevelInfo
from wsi.slide.browser_jpeg import browser_jpeg
from wsi.slide.coding import Reduction
from wsi.slide.reducing import reduced
from wsi.slide.slide import RGB, EncodedTile, SlideReader

QUALITY: Final = 90  #: of tiles that are packed anew, without subsampling
#: Bytes of a file's own tile, from which on it is packed anew: a Lambda answers 6 MB of base64 at most.
MOST_BYTES: Final = 4_000_000
_STRIPE: Final = 12  #: px of a hatched place's stripes
_RED: Final = np.array((200, 40, 60), np.uint8)
_GREY: Final = np.array((120, 120, 120), np.uint8)


@dataclass(frozen=True, slots=True)
class ViewTile:
    jpeg: bytes
    unreadable: int = 0  #: tiles of the file whose places are hatched


def tile_of_file(reader: SlideReader, level: int, box: Box, reduction: Reduction) -> ViewTile:
    """`box` counts px of the file's `level` after they were shrunk `reduction` times. Raises SourceError."""
    info = reader.inspection.levels[level]
    place = box.scaled(reduction)
    tiles = {tile.index: tile for tile in file_tiles(info, place)}
    encoded = reader.encoded(level, list(tiles))
    if [tile.box for tile in tiles.values()] == [box]:
        return _own(reader, next(encoded), box)
    canvas = _Canvas(reader, info, place, reduction)
    for tile in encoded:
        canvas.add(tile, tiles[tile.index])
    return ViewTile(_packed(canvas.pixels()), canvas.unreadable)


def tile_of_picture(picture: RGB, box: Box, reduction: Reduction) -> ViewTile:
    """`box` counts px of the picture after they were shrunk `reduction` times."""
    place = box.scaled(reduction)
    return ViewTile(_packed(reduced(picture[place.top : place.bottom, place.left : place.right], reduction)))


def _own(reader: SlideReader, tile: EncodedTile, box: Box) -> ViewTile:
    """A tile as the file has it, where that is a JPEG. It is decoded all the same: damage shows in no other way, and a
    browser paints over it."""
    try:
        pixels = reader.decode(tile)
        decoding = reader.decoding(tile.level)
        own = browser_jpeg(tile.pieces, decoding) if decoding is not None else None
    except TileUnreadable:
        return ViewTile(_packed(_hatched(box)), 1)
    return ViewTile(own if own is not None and len(own) <= MOST_BYTES else _packed(pixels))


class _Canvas:
    """Tiles of the file are decoded as small as they are needed where they can be cut into whole squares, and averaged
    afterwards where not."""

    def __init__(self, reader: SlideReader, info: LevelInfo, place: Box, reduction: Reduction) -> None:
        """`place`: px of the level of the file."""
        fits = info.tile_width % reduction == 0 and info.tile_height % reduction == 0
        self._decoded: Reduction = reduction if fits else 1
        self._afterwards: Reduction = 1 if fits else reduction
        self._reader = reader
        self._place = place.shrunk(self._decoded)
        self._pixels = _hatched(self._place)  # until a tile covers it
        self.unreadable = 0

    def add(self, encoded: EncodedTile, tile: FileTile) -> None:
        try:
            pixels = self._reader.decode(encoded, self._decoded)
        except TileUnreadable:
            self.unreadable += 1
            return
        lies = tile.box.shrunk(self._decoded)
        both = lies.within(self._place)
        source, target = both.moved(lies.left, lies.top), both.moved(self._place.left, self._place.top)
        self._pixels[target.top : target.bottom, target.left : target.right] = pixels[
            source.top : source.bottom, source.left : source.right
        ]

    def pixels(self) -> RGB:
        return reduced(self._pixels, self._afterwards)


def _hatched(place: Box) -> RGB:
    """[height, width, 3], stripes that go on from tile to tile."""
    down, across = np.arange(place.top, place.bottom), np.arange(place.left, place.right)
    stripes = ((down[:, None] + across[None, :]) // _STRIPE) % 2 == 0
    return np.where(stripes[..., None], _RED, _GREY)


def _packed(pixels: RGB) -> bytes:
    whole = np.ascontiguousarray(pixels)
    return simplejpeg.encode_jpeg(whole, quality=QUALITY, colorspace="RGB", colorsubsampling="444")
