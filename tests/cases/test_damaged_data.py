"""Tiles that are missing or broken, and directories that contradict themselves, as scanners write them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import imagecodecs
import numpy as np
import tifffile

from tests.cases.case import Case, Read, Refused, check, parametrised
from tests.cases.pages import Page, change_tile, drawn, empty_tile, smaller, svs_text, write_pages
from tests.slides import damage
from tests.slides.tiffs import write_aperio_jpeg2000
from wsi.errors import RejectReason

WIDTH, HEIGHT = 320, 240
SIDES = [(WIDTH, HEIGHT), (160, 120)]
BASE = drawn()
HOLED = BASE.copy()
HOLED[64:128, 64:128] = 255  # the seventh tile, white where nothing was scanned
DENSITY = (40_000.0, 40_000.0)  # 0.25 um


def _two_levels(path: Path, **more: object) -> Path:
    return write_pages(
        path,
        Page(pixels=BASE, density=DENSITY, **more),
        Page(pixels=smaller(BASE, 2), flags=1, **more),
    )


def _sparse(folder: Path) -> Path:
    return empty_tile(_two_levels(folder / "slide.tif"), 6)


def _zero_length(folder: Path) -> Path:
    """The offset stays, as Aperio leaves it at the edges of smaller levels."""
    path = folder / "slide.svs"
    text = svs_text(WIDTH, HEIGHT)
    write_pages(path, Page(pixels=BASE, description=text), Page(pixels=smaller(BASE, 2), description=text))
    return empty_tile(path, 2, page=1, offset=None)


def _overwritten(folder: Path) -> Path:
    path = folder / "slide.svs"
    options = (("photometric", "ycbcr"), ("subsampling", (1, 1)))
    write_pages(path, Page(pixels=BASE, description=svs_text(WIDTH, HEIGHT), compression="jpeg", options=options))
    return change_tile(path, 0, lambda tile: b"\xff\x11" + b"\x11" * 40 + tile[42:])


def _dangling(folder: Path) -> Path:
    """The last directory points past the end of the file."""
    path = _two_levels(folder / "slide.tif")
    with tifffile.TiffFile(path) as file:
        last = file.pages[1]
        place = last.offset + 2 + 12 * len(last.tags)
        size = path.stat().st_size
    return damage(path, lambda data: data.__setitem__(slice(place, place + 4), (size + 1_000).to_bytes(4, "little")))


def _without_samples(folder: Path) -> Path:
    path = folder / "slide.tif"
    write_pages(path, Page(pixels=BASE[..., 1], density=DENSITY))
    return change_entry_number(path, 277, 65_000)


def change_entry_number(path: Path, tag: int, new: int) -> Path:
    """Gives the entry another tag, so that the tag is missing."""
    with tifffile.TiffFile(path) as file:
        entry = file.pages[0].tags[tag].offset
        order = file.byteorder
    return damage(path, lambda data: struct.pack_into(order + "H", data, entry, new))


def _cut_row(folder: Path) -> Path:
    return write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY, compression="lzw"))


def _text_of_bytes(folder: Path) -> Path:
    return write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY, description=b"caf\xe9 \x8d\xd9+ text"))


def _jpeg2000(folder: Path, change: Callable[[bytes], bytes]) -> Path:
    """An SVS of four tiles in JPEG 2000, of which the second is changed."""
    side = 64
    square = np.ascontiguousarray(drawn()[40 : 40 + 2 * side, 40 : 40 + 2 * side])
    corners = [(y, x) for y in (0, side) for x in (0, side)]
    tiles = [np.ascontiguousarray(square[y : y + side, x : x + side]) for y, x in corners]
    packed = [bytes(imagecodecs.jpeg2k_encode(tile, level=0, codecformat="j2k", reversible=True)) for tile in tiles]
    packed[1] = change(packed[1])
    return write_aperio_jpeg2000(folder / "slide.svs", packed, compression=33005, side=side, across=2)


def _longer_part(stream: bytes) -> bytes:
    """The tile-part claims 1,000 bytes more than there are."""
    at = stream.index(b"\xff\x90") + 6
    size = int.from_bytes(stream[at : at + 4], "big") + 1_000
    return stream[:at] + size.to_bytes(4, "big") + stream[at + 4 :]


CASES = [
    Case(
        source="openslide#546",
        met="TIFFs of the Philips SDK leave tiles without tissue out (offset 0, size 0); reading failed there",
        write=_sparse,
        # openslide PR#547: missing tiles of generic TIFF are transparent, which is glass here; nothing is lost.
        expect=Read(levels=SIDES, mpp=0.25, pixels=HOLED, warns="without 1 of its 20 tiles"),
    ),
    Case(
        source="opentile#1",
        met="tiles of length 0 at the edge of a smaller level of an SVS",
        write=_zero_length,
        # Tissue may lie there: OpenSlide fetches it from level 0. It must not be called glass.
        expect=Read(levels=SIDES, mpp=0.5, unreadable=(0, 1), warns="be decoded", pixels=BASE),
    ),
    Case(
        source="openslide PR#211",
        met="the first tile of an SVS begins with foreign bytes; the slide was black there",
        write=_overwritten,
        expect=Read(levels=[(WIDTH, HEIGHT)], mpp=0.5, unreadable=(1,), warns="decoded"),
    ),
    Case(
        source="raw2ometiff#13",
        met="the last directory points at one past the end of the file; whole before it",
        write=_dangling,
        # libtiff reads on. A cut upload looks the same and may hold no more than the thumbnail, so we refuse, truly.
        expect=Refused(reason=RejectReason.TRUNCATED, says="cut short, or .* left a wrong entry"),
    ),
    Case(
        source="large_image PR#320",
        met="a page without SamplesPerPixel ended in a TypeError",
        write=_without_samples,
        # TIFF 6.0: the tag's default is 1.
        expect=Read(levels=[(WIDTH, HEIGHT)], mpp=0.25),
    ),
    Case(
        source="openslide-bin#433",
        met="the last row of LZW tiles, which the image does not fill, came out corrupt",
        write=_cut_row,
        expect=Read(levels=[(WIDTH, HEIGHT)], mpp=0.25, pixels=BASE),
    ),
    Case(
        source="openslide#397",
        met="JPEG 2000: tile part length size inconsistent with stream length",
        write=lambda folder: _jpeg2000(folder, _longer_part),
        # The data end early: what is there may be decoded, but must not pass for a whole tile.
        expect=Read(levels=[(128, 128)], mpp=0.5, unreadable=(1,), warns="decoded"),
    ),
    Case(
        source="libvips#1091",
        met="JPEG 2000: incomplete bit stream",
        write=lambda folder: _jpeg2000(folder, lambda stream: stream[: len(stream) // 2]),
        expect=Read(levels=[(128, 128)], mpp=0.5, unreadable=(1,), warns="decoded"),
    ),
    Case(
        source="openslide#86",
        met="tiles of more than 4,096 px a side",
        write=lambda folder: write_pages(
            folder / "slide.tif", Page(pixels=BASE, density=DENSITY, tile=4_112, compression="zlib")
        ),
        expect=Refused(reason=RejectReason.CLAIMS_TOO_MUCH, says="4,112 x 4,112"),
    ),
    Case(
        source="cucim#810",
        met="invalid UTF-8 ended reading: here in the description",
        write=_text_of_bytes,
        expect=Read(levels=[(WIDTH, HEIGHT)], mpp=0.25, pixels=BASE),
    ),
]


@parametrised(CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
