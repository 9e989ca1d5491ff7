"""A slide of any size that shows real tissue: JPEG tiles of a small slide, repeated as they are. They are those of its
square of `BLOCK` tiles a side that takes most red light away, as haematoxylin does: the one with most nuclei.

Each tile has its own place in the file, by rows, as scanners write them: tiles that shared their bytes would be read
once for many. A coarse level shows the same, so that tissue is found in it as on any slide. Needs tifffile and Pillow.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

from tests.bigtiff import FIRST_LINK, HEAD, write_directory
from tests.tissue import split_tables
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import EncodedTile

OVERVIEW: Final = 16  #: downsample of the coarse level
BLOCK: Final = 6  #: tiles
_JPEG_TABLES: Final = 347
_SUBSAMPLING: Final = 530


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """Tiles of a small slide that lie wholly within it."""

    side: int  #: px of a tile
    tiles: list[list[bytes]]  #: by rows
    tables: bytes
    photometric: int
    subsampling: list[int] | None
    overview: NDArray[np.uint8]  #: [rows, columns, 3], `OVERVIEW` times coarser


def write_repeated(path: Path, small: Path, side: int, *, mpp: float = 0.5) -> Path:
    """Write an Aperio SVS of `side` px, or as little more as whole tiles need, from the tiles of `small`: an SVS or
    TIFF of square JPEG tiles with common tables."""
    block = _read_block(small)
    across = -(-side // block.side)
    side = across * block.side
    rows, columns = len(block.tiles), len(block.tiles[0])
    picks = [block.tiles[row % rows][column % columns] for row in range(across) for column in range(across)]
    sizes = np.array([len(tile) for tile in picks])
    coarse, tables, coarse_across = _encode_overview(block, side)
    coarse_sizes = np.array([len(tile) for tile in coarse])
    data = bytearray()
    for _ in range(2):  # where the tiles begin is known once the directories are laid out
        places = len(data) + np.cumsum(sizes) - sizes
        coarse_places = len(data) + int(sizes.sum()) + np.cumsum(coarse_sizes) - coarse_sizes
        data, link = bytearray(HEAD), FIRST_LINK
        link = _write_level(data, link, block, side, side, mpp, places, sizes, block.tables)
        _write_level(data, link, block, side, coarse_across, mpp, coarse_places, coarse_sizes, tables)
    with path.open("wb") as file:
        file.write(data)
        file.writelines(picks)
        file.writelines(coarse)
    return path


def _read_block(small: Path) -> _Block:
    with tifffile.TiffFile(small) as file:
        page: Any = file.pages[0]
        side, data = page.tilewidth, small.read_bytes()
        rows, columns = page.imagelength // side, page.imagewidth // side
        stride = -(-page.imagewidth // side)
        places = [[row * stride + column for column in range(columns)] for row in range(rows)]
        spans = list(zip(page.dataoffsets, page.databytecounts, strict=True))
        tiles = [[data[spans[at][0] : sum(spans[at])] for at in row] for row in places]
        tags = page.tags
        tables, photometric = bytes(tags[_JPEG_TABLES].value), int(page.photometric)
        subsampling = list(tags[_SUBSAMPLING].value) if _SUBSAMPLING in tags else None
    pixels = np.zeros((rows * side, columns * side, 3), np.uint8)
    reader = open_slide(open_local_source(small))
    for row, line in enumerate(tiles):
        for column, tile in enumerate(line):
            decoded = reader.decode(EncodedTile(0, places[row][column], (tile,)), 1, 255)
            pixels[row * side : (row + 1) * side, column * side : (column + 1) * side] = decoded
    reader.close()
    top, left = _find_darkest(pixels[..., 0].reshape(rows, side, columns, side).mean(axis=(1, 3)))
    pixels = pixels[top * side : (top + BLOCK) * side, left * side : (left + BLOCK) * side]
    height, width = (each // OVERVIEW for each in pixels.shape[:2])
    overview = np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX))
    return _Block(
        side=side,
        tiles=[row[left : left + BLOCK] for row in tiles[top : top + BLOCK]],
        tables=tables,
        photometric=photometric,
        subsampling=subsampling,
        overview=overview,
    )


def _find_darkest(means: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first row and column of the square of `BLOCK` tiles, or fewer of a smaller slide, that is darkest by
    the means of its tiles."""
    squares = np.lib.stride_tricks.sliding_window_view(means, [min(BLOCK, side) for side in means.shape])
    sums = squares.mean(axis=(2, 3))
    row, column = divmod(int(sums.argmin()), sums.shape[1])
    return row, column


def _encode_overview(block: _Block, side: int) -> tuple[list[bytes], bytes, int]:
    """Return the tiles of the coarse level of a slide of `side` px, their tables, and its px."""
    across = side // OVERVIEW
    height, width = block.overview.shape[:2]
    count = -(-across // block.side)
    whole = count * block.side
    picture = np.tile(block.overview, (-(-whole // height), -(-whole // width), 1))[:whole, :whole]
    tiles: list[bytes] = []
    tables = b""
    for row in range(count):
        for column in range(count):
            top, left = row * block.side, column * block.side
            pixels = np.ascontiguousarray(picture[top : top + block.side, left : left + block.side])
            tables, tile = _encode_tile(pixels, rgb=block.photometric == 2)
            tiles.append(tile)
    return tiles, tables, across


def _encode_tile(pixels: NDArray[np.uint8], *, rgb: bool) -> tuple[bytes, bytes]:
    """Return JPEGTables and the tile, in the colours that the container states."""
    file = io.BytesIO()
    space: dict[str, Any] = {"keep_rgb": True, "subsampling": "4:4:4"} if rgb else {"subsampling": "4:2:0"}
    Image.fromarray(pixels).save(file, "JPEG", quality=85, optimize=False, **space)
    return split_tables(file.getvalue())


def _write_level(
    data: bytearray,
    link: int,
    block: _Block,
    side: int,
    across: int,
    mpp: float,
    places: NDArray[np.int64],
    sizes: NDArray[np.int64],
    tables: bytes,
) -> int:
    facts = f"Aperio Image Library v12.0.15\r\n{side}x{side} -> {across}x{across}|AppMag = 20|MPP = {mpp}"
    return write_directory(
        data,
        link,
        (
            (256, "long", [across]),
            (257, "long", [across]),
            (258, "short", [8, 8, 8]),
            (259, "short", [7]),
            (262, "short", [block.photometric]),
            (270, "ascii", facts.encode() + b"\0"),
            (277, "short", [3]),
            (284, "short", [1]),
            (322, "long", [block.side]),
            (323, "long", [block.side]),
            (324, "long8", places.tolist()),
            (325, "long", sizes.tolist()),
            (_JPEG_TABLES, "bytes", tables),
            *([(_SUBSAMPLING, "short", block.subsampling)] if block.photometric == 6 and block.subsampling else []),
        ),
    )
