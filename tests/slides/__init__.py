"""Writers of test slides: Aperio SVS and generic pyramids with JPEG tiles, as scanners lay them out.

A slide is a block of tissue on glass. Tiles wholly inside the block are drawn from a small pool of encoded JPEGs, and
glass is one encoded tile, so that only tiles on the block's border are encoded one by one: 10,000 model tiles take
about a second to write. JPEG tables are shared (JPEGTables), tiles are abbreviated, and neither holds a JFIF or an
Adobe marker, so that only the container says what the colours are, as in real Aperio files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import imagecodecs
import numpy as np
import tifffile
from numpy.typing import NDArray

from tests.tissue import GLASS, he_tissue, split_tables

__all__ = ("GLASS", "damage", "encode_tile", "he_tissue", "split_tables", "write_pyramid_tiff", "write_svs")

Box = tuple[int, int, int, int]  #: left, top, right, bottom in level-0 px


def write_svs(
    path: Path,
    *,
    width: int,
    height: int,
    tile: int = 240,
    levels: tuple[int, ...] = (1,),
    mpp: float | None = 0.5,
    rgb: bool = True,
    seed: int = 0,
    tissue: Box | None = None,
    quality: int = 70,
    pool: int = 24,
    big: bool = False,
    byte_order: Literal["<", ">"] = "<",
    associated: bool = True,
) -> Path:
    """An Aperio SVS. `levels` are downsamples; `rgb` picks RGB 4:4:4 with component ids 0, 1, 2 (as Aperio writes) or
    YCbCr 4:2:0; `tissue` is the block of tissue (default: all but a margin of a tenth on each side); `associated`
    adds thumbnail, label and macro."""
    picture = _Picture(width, height, tissue, tile, rgb, quality, seed, pool)
    head = (
        f"Aperio Image Library v12.0.15\r\n{width}x{height} [0,0 {width}x{height}] ({tile}x{tile}) JPEG/RGB Q={quality}"
    )
    facts = "|AppMag = 20|Filename = 1" + (f"|MPP = {mpp}" if mpp is not None else "")
    with tifffile.TiffWriter(path, bigtiff=big, byteorder=byte_order) as writer:
        picture.write_level(writer, levels[0], description=head + facts)
        if associated:
            _write_strips(writer, width // 16, height // 16, description=f"{head} -> thumbnail")
        for downsample in levels[1:]:
            picture.write_level(writer, downsample, description=head)
        if associated:
            _write_strips(writer, 96, 96, description="Aperio Image Library v12.0.15\r\nlabel 96x96", subfiletype=1)
            _write_strips(writer, 192, 64, description="Aperio Image Library v12.0.15\r\nmacro 192x64", subfiletype=9)
    return path


def write_pyramid_tiff(
    path: Path,
    *,
    width: int,
    height: int,
    tile: int = 256,
    levels: tuple[int, ...] = (1, 2, 4),
    mpp: float | None = 0.5,
    rgb: bool = False,
    seed: int = 0,
    tissue: Box | None = None,
    quality: int = 80,
    big: bool = False,
    byte_order: Literal["<", ">"] = "<",
) -> Path:
    """A generic tiled pyramid, with the resolution in the TIFF tags (pixels a centimetre)."""
    picture = _Picture(width, height, tissue, tile, rgb, quality, seed, pool=8)
    with tifffile.TiffWriter(path, bigtiff=big, byteorder=byte_order) as writer:
        for downsample in levels:
            density = 10_000 / (mpp * downsample) if mpp is not None else None
            tags = {} if density is None else {"resolution": (density, density), "resolutionunit": "CENTIMETER"}
            picture.write_level(writer, downsample, subfiletype=int(downsample != levels[0]), **tags)
    return path


def encode_tile(pixels: NDArray[np.uint8], *, rgb: bool, quality: int = 80) -> bytes:
    """A whole JPEG: RGB 4:4:4 with Adobe's marker, or YCbCr 4:2:0 with JFIF's."""
    space: dict[str, Any] = {"outcolorspace": "RGB" if rgb else "YCBCR", "subsampling": "444" if rgb else "420"}
    return imagecodecs.jpeg8_encode(pixels, level=quality, colorspace="RGB", **space)


@dataclass
class _Picture:
    width: int
    height: int
    tissue: Box | None
    tile: int
    rgb: bool
    quality: int
    seed: int
    pool: int

    def __post_init__(self) -> None:
        width, height = self.width, self.height
        self.block = self.tissue or (width // 10, height // 10, width - width // 10, height - height // 10)
        rng = np.random.default_rng(self.seed)
        noise = rng.normal(GLASS, 1.2, (self.tile, self.tile, 3))
        self.glass = np.clip(noise, 0, 255).astype(np.uint8)
        self.patterns = [he_tissue(rng, self.tile, self.tile) for _ in range(self.pool)]
        self.tables, self.glass_tile = split_tables(self._jpeg(self.glass))
        self.pattern_tiles = [split_tables(self._jpeg(pattern))[1] for pattern in self.patterns]

    def write_level(self, writer: tifffile.TiffWriter, downsample: int, **more: Any) -> None:
        width, height = self.width // downsample, self.height // downsample
        writer.write(
            self._tiles(width, height, downsample),
            shape=(height, width, 3),
            dtype=np.uint8,
            tile=(self.tile, self.tile),
            photometric="rgb" if self.rgb else "ycbcr",
            compression="jpeg",
            compressionargs={"outcolorspace": "RGB" if self.rgb else "YCBCR"},
            subsampling=None if self.rgb else (2, 2),
            extratags=[(347, 7, len(self.tables), self.tables, True)],
            metadata=None,
            software=False,
            **more,
        )

    def _tiles(self, width: int, height: int, downsample: int) -> Iterator[bytes]:
        left, top, right, bottom = (edge // downsample for edge in self.block)
        choose = np.random.default_rng((self.seed, downsample))
        for y in range(0, height, self.tile):
            for x in range(0, width, self.tile):
                pattern = int(choose.integers(self.pool))
                rows = slice(max(top - y, 0), max(bottom - y, 0))
                columns = slice(max(left - x, 0), max(right - x, 0))
                covered = (min(rows.stop, self.tile) - rows.start, min(columns.stop, self.tile) - columns.start)
                if min(covered) <= 0:
                    yield self.glass_tile
                elif covered == (self.tile, self.tile):
                    yield self.pattern_tiles[pattern]
                else:
                    pixels = self.glass.copy()
                    pixels[rows, columns] = self.patterns[pattern][rows, columns]
                    yield split_tables(self._jpeg(pixels))[1]

    def _jpeg(self, pixels: NDArray[np.uint8]) -> bytes:
        return encode_tile(pixels, rgb=self.rgb, quality=self.quality)


def _write_strips(writer: tifffile.TiffWriter, width: int, height: int, **more: Any) -> None:
    pixels = np.full((max(height, 16), max(width, 16), 3), 220, np.uint8)
    writer.write(pixels, photometric="rgb", compression="lzw", rowsperstrip=16, metadata=None, software=False, **more)


def damage(path: Path, change: Callable[[bytearray], None]) -> Path:
    """Rewrites the file with `change` applied to its bytes."""
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return path
