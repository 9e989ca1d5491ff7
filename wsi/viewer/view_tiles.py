"""The JPEG of one tile of a viewer: the file's own, or assembled from tiles of the file, or cut out of an overview.

No tile is ever silently white: parts that cannot be decoded are hatched, at every zoom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.errors import TileUnreadable
from wsi.records.slides import LevelInfo
from wsi.slide.codecs.browser_jpeg import make_browser_jpeg
from wsi.slide.coding import Reduction
from wsi.slide.reducing import reduce_pixels
from wsi.slide.slide import RGB, EncodedTile, SlideReader
from wsi.viewer.deep_zoom import Box, FileTile, iterate_file_tiles

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


def make_file_tile(reader: SlideReader, level: int, box: Box, reduction: Reduction) -> ViewTile:
    """Return the tile; `box` is in px of the file's `level` shrunk `reduction` times. Raises SourceError."""
    info = reader.inspection.levels[level]
    place = box.scale_up(reduction)
    tiles = {tile.index: tile for tile in iterate_file_tiles(info, place)}
    encoded = reader.read_tiles(level, list(tiles))
    if [tile.box for tile in tiles.values()] == [box]:
        return _own(reader, next(encoded), box)
    canvas = _Canvas(reader, info, place, reduction)
    for tile in encoded:
        canvas.add(tile, tiles[tile.index])
    return ViewTile(_encode_jpeg(canvas.compute_pixels()), canvas.unreadable)


def make_overview_tile(picture: RGB, box: Box, reduction: Reduction) -> ViewTile:
    """Return the tile; `box` is in px of the image shrunk `reduction` times."""
    place = box.scale_up(reduction)
    return ViewTile(_encode_jpeg(reduce_pixels(picture[place.top : place.bottom, place.left : place.right], reduction)))


def copy_part(part: Box, tile: RGB, lies: Box, canvas: RGB, place: Box) -> None:
    """Copy `part` of a tile, which is at `lies`, to a canvas at `place`, all in px of one level."""
    source, target = part.move_origin(lies.left, lies.top), part.move_origin(place.left, place.top)
    canvas[target.top : target.bottom, target.left : target.right] = tile[
        source.top : source.bottom, source.left : source.right
    ]


def _own(reader: SlideReader, tile: EncodedTile, box: Box) -> ViewTile:
    """Return the file's own tile if it is a JPEG. It is decoded all the same: damage shows in no other way, and a
    browser paints over it."""
    try:
        pixels = reader.decode(tile)
        decoding = reader.find_decoding(tile.level)
        own = make_browser_jpeg(tile.pieces, decoding) if decoding is not None else None
    except TileUnreadable:
        return ViewTile(_encode_jpeg(_draw_hatching(box)), 1)
    return ViewTile(own if own is not None and len(own) <= MOST_BYTES else _encode_jpeg(pixels))


class _Canvas:
    """A canvas for tiles of the file. They are decoded at the reduced size if they can be cut into whole squares, and
    averaged afterwards if not."""

    def __init__(self, reader: SlideReader, info: LevelInfo, place: Box, reduction: Reduction) -> None:
        """Take `place` in px of the file's level."""
        fits = info.tile_width % reduction == 0 and info.tile_height % reduction == 0
        self._decoded: Reduction = reduction if fits else 1
        self._afterwards: Reduction = 1 if fits else reduction
        self._reader = reader
        self._place = place.scale_down(self._decoded)
        self._pixels = _draw_hatching(self._place)  # until a tile covers it
        self.unreadable = 0

    def add(self, encoded: EncodedTile, tile: FileTile) -> None:
        try:
            pixels = self._reader.decode(encoded, self._decoded)
        except TileUnreadable:
            self.unreadable += 1
            return
        lies = tile.box.scale_down(self._decoded)
        copy_part(lies.intersect(self._place), pixels, lies, self._pixels, self._place)

    def compute_pixels(self) -> RGB:
        """Return the canvas at the reduced size; average it first if its tiles were decoded at full size."""
        return reduce_pixels(self._pixels, self._afterwards)


def _draw_hatching(place: Box) -> RGB:
    """Return stripes, [height, width, 3], that continue from tile to tile."""
    down, across = np.arange(place.top, place.bottom), np.arange(place.left, place.right)
    stripes = ((down[:, None] + across[None, :]) // _STRIPE) % 2 == 0
    return np.where(stripes[..., None], _RED, _GREY)


def _encode_jpeg(pixels: RGB) -> bytes:
    whole = np.ascontiguousarray(pixels)
    return simplejpeg.encode_jpeg(whole, quality=QUALITY, colorspace="RGB", colorsubsampling="444")
