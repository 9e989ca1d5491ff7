"""Small TIFFs page by page, as the reports describe them, and changes to single tags that no writer offers."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from tests.slides import GLASS, damage, he_tissue

APERIO = "Aperio Image Library v12.0.15\r\n"


@functools.cache
def drawn(width: int = 320, height: int = 240, seed: int = 0) -> NDArray[np.uint8]:
    """[height, width, 3] tissue with a margin of glass. Made once: not to be written to."""
    pixels = np.full((height, width, 3), GLASS, np.uint8)
    tissue = he_tissue(np.random.default_rng(seed), height, width)
    edge = min(height, width) // 8
    pixels[edge:-edge, edge:-edge] = tissue[edge:-edge, edge:-edge]
    return pixels


def smaller(pixels: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(pixels[::step, ::step])


@dataclass(frozen=True, kw_only=True)
class Page:
    """One image of a TIFF. The defaults are a tiled page without a description."""

    pixels: NDArray[np.uint8]
    description: str | bytes | None = None
    tile: int | None = 64  #: px; None for strips
    flags: int = 0  #: NewSubfileType
    density: tuple[float, float] | None = None  #: px a unit, across and down
    unit: str = "CENTIMETER"
    below: Sequence[Page] = ()  #: SubIFDs
    compression: str | None = "deflate"
    more: tuple[tuple[int, int, int, Any, bool], ...] = ()  #: further tags, as tifffile takes them
    options: tuple[tuple[str, Any], ...] = ()  #: further arguments of tifffile's


def svs_text(width: int, height: int, fields: str = "AppMag = 20|MPP = 0.5") -> str:
    return f"{APERIO}{width}x{height} [0,0 {width}x{height}] (64x64) JPEG/RGB Q=70|{fields}"


def ome_text(*images: tuple[str, int, int, int, float]) -> str:
    """The OME-XML of images in RGB: name, width, height, page, um a px."""
    listed = "".join(
        f'<Image ID="Image:{number}" Name="{name}"><Pixels ID="Pixels:{number}" DimensionOrder="XYCZT" Type="uint8" '
        f'SizeX="{width}" SizeY="{height}" SizeC="3" SizeZ="1" SizeT="1" PhysicalSizeX="{mpp}" PhysicalSizeY="{mpp}">'
        f'<Channel ID="Channel:{number}:0" SamplesPerPixel="3"/><TiffData IFD="{page}" PlaneCount="1"/></Pixels>'
        "</Image>"
        for number, (name, width, height, page, mpp) in enumerate(images)
    )
    schema = "http://www.openmicroscopy.org/Schemas/OME/2016-06"
    return f'<?xml version="1.0" encoding="UTF-8"?><OME xmlns="{schema}">{listed}</OME>'


def write_pages(path: Path, *pages: Page, big: bool = False) -> Path:
    with tifffile.TiffWriter(path, bigtiff=big) as writer:
        for page in pages:
            _write(writer, page, subifds=len(page.below))
            for smaller_page in page.below:
                _write(writer, smaller_page)
    return path


def _write(writer: tifffile.TiffWriter, page: Page, **more: Any) -> None:
    grey = page.pixels.ndim == 2
    how: dict[str, Any] = {"photometric": "minisblack" if grey else "rgb", "compression": page.compression, **more}
    if page.tile is not None:
        how["tile"] = (page.tile, page.tile)
    if page.density is not None:
        how |= {"resolution": page.density, "resolutionunit": page.unit}
    text = page.description.encode() if isinstance(page.description, str) else page.description
    how |= {"subfiletype": page.flags, "description": text, "extratags": page.more} | dict(page.options)
    writer.write(page.pixels, metadata=None, software=False, **how)


def change_entry(
    path: Path, tag: int, *, page: int = 0, kind: int | None = None, count: int | None = None, value: int | None = None
) -> Path:
    """Rewrites the entry of a tag in a directory: its type, its count, or the value or offset in it."""
    with tifffile.TiffFile(path) as file:
        entry = file.pages[page].tags[tag].offset  # pyright: ignore[reportAttributeAccessIssue]
        order, wide = file.byteorder, file.is_bigtiff

    def change(data: bytearray) -> None:
        if kind is not None:
            struct.pack_into(order + "H", data, entry + 2, kind)
        if count is not None:
            struct.pack_into(order + ("Q" if wide else "I"), data, entry + 4, count)
        if value is not None:
            struct.pack_into(order + ("Q" if wide else "I"), data, entry + (12 if wide else 8), value)

    return damage(path, change)


def change_tile(path: Path, tile: int, change: Callable[[bytes], bytes], *, page: int = 0) -> Path:
    """Puts other bytes of the same length in place of a tile's."""
    with tifffile.TiffFile(path) as file:
        found = file.pages[page]
        start, size = found.dataoffsets[tile], found.databytecounts[tile]  # pyright: ignore[reportAttributeAccessIssue]

    def exchange(data: bytearray) -> None:
        new = change(bytes(data[start : start + size]))
        assert len(new) == size, "another length"
        data[start : start + size] = new

    return damage(path, exchange)


def empty_tile(
    path: Path, tile: int, *, page: int = 0, offset: int | None = 0, tags: tuple[int, int] = (324, 325)
) -> Path:
    """Takes a tile away: its size becomes 0, and its offset `offset` unless that is None."""
    with tifffile.TiffFile(path) as file:
        found = file.pages[page].tags  # pyright: ignore[reportAttributeAccessIssue]
        places = [(found[tag].valueoffset, found[tag].dtype) for tag in (324, 325)]
        order = file.byteorder
    codes = {3: "H", 4: "I", 16: "Q"}

    def take_away(data: bytearray) -> None:
        for (place, kind), value in zip(places, (offset, 0), strict=True):
            if value is not None:
                code = order + codes[int(kind)]
                struct.pack_into(code, data, place + tile * struct.calcsize(code), value)

    return damage(path, take_away)
