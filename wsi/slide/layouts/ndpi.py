"""Hamamatsu NDPI: a directory a level, each of them one JPEG of the whole level, with a list of where its restart
markers are. Tiles are bands of its slices. If the first level has no list, or one of another count than its size needs,
OpenSlide reads the file: it looks for the markers itself. A smaller level of which that is true is left out.

Source: openslide.org/formats/hamamatsu, and OpenSlide's reading of the tags. Levels have the magnification of their
lens; the macro picture has -1 and the map -2. Of several focal planes the one at height 0 is read, as OpenSlide does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.records.slides import Choice, Inspection, LevelInfo
from wsi.slide import tiff
from wsi.slide.codecs.jpeg_restarts import JpegHeader, read_header
from wsi.slide.coding import Codec, Coding, Colour
from wsi.slide.index import IndexedFile, LevelIndex, SlideIndex, TileExtents
from wsi.slide.layouts.pyramids import StoredImage, choose_plane, make_one_image_error
from wsi.slide.layouts.tiff_levels import MAX_TILE_PIXELS, make_unsupported_error, read_image_size
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.scales.pages import read_page_mpp, read_resolution
from wsi.slide.tiff import Directory, Tiff, make_damaged_error
from wsi.slide.windows import CUT_SHORT

SOURCE_LENS: Final = 65421  #: magnification of a level
Z_OFFSET: Final = 65424  #: nm from the middle focal plane
STARTS: Final = 65426  #: of the restart slices, from the JPEG's first byte: bits 0 to 31
STARTS_UPPER: Final = 65432  #: bits 32 to 63
CAPTURE_MODE: Final = 65441  #: from 6 on, grey of 16 bits, whatever the other tags say (tifffile)
HEADER = 16_384  #: bytes; scanners write about 650
BAND = 256  #: rows of a tile: of 4,096 px wide slices about 350 KB in 32 pieces
MAX_JPEG_SIDE = 65_500  #: px that libjpeg takes
_JPEG = 7
_GREY_16 = 6


@dataclass(frozen=True, slots=True)
class _Page:
    directory: Directory
    width: int
    height: int
    jpeg: ByteRange
    starts: NDArray[np.int64] | None

    @property
    def head(self) -> ByteRange:
        return ByteRange(self.jpeg.start, min(self.jpeg.start + HEADER, self.jpeg.end))


def matches(file: Tiff) -> bool:
    return file.ndpi


def select_levels(file: Tiff) -> list[Directory]:
    """Return the levels of all planes of focus, in the file's order. Raises SlideRejected."""
    found = [directory for directory in file.directories if (directory.read_number(SOURCE_LENS) or 0) > 0]
    if not found:
        raise make_unsupported_error("The file holds no picture of the slide, only an overview.")
    return found


def index(file: Tiff, source: RangeSource, choice: Choice | None) -> SlideIndex:
    """Return the index of the slide. Raises SlideRejected: Z_STACK without a plane at height 0 or a choice,
    NO_SUCH_CHOICE, BIT_DEPTH, UNSUPPORTED_FORMAT for what OpenSlide may read."""
    in_focus, of_plane = choose_focal_plane(select_levels(file), choice)
    if (in_focus[0].read_number(CAPTURE_MODE) or 0) >= _GREY_16:
        raise SlideRejected(
            RejectReason.BIT_DEPTH, "The file stores grey of 16 bits where models expect red, green and blue of 8."
        )
    in_focus[0].prefetch(in_focus[1:], (STARTS, STARTS_UPPER))
    pages = sorted((_page(directory, source.size) for directory in in_focus), key=lambda page: -page.width)
    if any(after.width == before.width for before, after in pairwise(pages)):
        raise make_unsupported_error("Two levels of the file have the same size: it may hold two scans.")
    heads = source.read_many([page.head for page in pages])
    found, left_out = _readable(pages, [bytes(head) for head in heads])
    said = read_page_mpp(file, pages[0].directory, (replace(read_resolution(pages[0].directory), source="hamamatsu"),))
    inspection = Inspection(
        format="ndpi",
        reading_path="native",
        vendor="hamamatsu",
        width=pages[0].width,
        height=pages[0].height,
        levels=tuple(level.info for level in found),
        mpp_x=said.x,
        mpp_y=said.y,
        mpp_source=said.source,
        mpp_conflict=said.conflict,
        mpp_unread=said.unread,
        icc=any(tiff.ICC_PROFILE in directory for directory in in_focus),
        warnings=(*said.warnings, *of_plane, *left_out),
    )
    return SlideIndex((IndexedFile(source.etag, source.size),), inspection, found)


def _readable(pages: Sequence[_Page], heads: Sequence[bytes]) -> tuple[tuple[LevelIndex, ...], tuple[str, ...]]:
    """Return the levels that can be read, and a warning for each other one. Raises SlideRejected if the first one
    cannot: its pixels are in no other level."""
    found, warnings = [_level(pages[0], pages[0], heads[0])], list[str]()
    for page, head in zip(pages[1:], heads[1:], strict=True):
        try:
            found.append(_level(page, pages[0], head))
        except SlideRejected as error:
            warnings.append(f"The level of {page.width} x {page.height} px is left out: {error.sentence}")
    return tuple(found), tuple(warnings)


def choose_focal_plane(
    directories: Sequence[Directory], choice: Choice | None
) -> tuple[list[Directory], tuple[str, ...]]:
    """Return the levels of the focal plane that is read, and warnings. Raises SlideRejected Z_STACK, NO_SUCH_CHOICE."""
    if choice is not None and choice.picture is not None:
        raise make_one_image_error()
    images = [
        StoredImage(number=number, width=width, height=height, plane=directory.read_number(Z_OFFSET) or 0.0)
        for number, directory in enumerate(directories)
        for width, height in [read_image_size(directory)]
    ]
    kept, warnings = choose_plane(images, choice)
    return [directories[image.number] for image in kept], warnings


def _page(directory: Directory, file_size: int) -> _Page:
    width, height = read_image_size(directory)
    if directory.read_integer(tiff.COMPRESSION, 1) != _JPEG:
        raise make_unsupported_error("The file's levels are not packed as JPEG.")
    offsets, sizes = (directory.read_integers(tag) for tag in (tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS))
    if offsets is None or sizes is None or len(offsets) != 1 or len(sizes) != 1:
        raise make_unsupported_error("The file's levels are not one JPEG each.")
    jpeg = ByteRange(int(offsets[0]), int(offsets[0] + sizes[0]))
    if not 0 < jpeg.start < jpeg.end:
        raise make_damaged_error("The file claims a picture without a place.")
    if jpeg.end > file_size:
        raise SlideRejected(RejectReason.TRUNCATED, CUT_SHORT)
    lower, upper = directory.read_integers(STARTS), directory.read_integers(STARTS_UPPER)
    if lower is None or upper is None:
        return _Page(directory, width, height, jpeg, lower)
    if len(lower) != len(upper) or (len(upper) and int(upper.max()) >= 2**31):
        raise make_damaged_error("The file's list of restart markers has two halves that do not fit each other.")
    return _Page(directory, width, height, jpeg, lower + (upper << 32))


def _level(page: _Page, first: _Page, head: bytes) -> LevelIndex:
    try:
        header = read_header(head)
    except TileUnreadable as error:
        raise make_unsupported_error("A level of the file has no JPEG header that can be read.") from error
    blocks = -(-page.width // header.block_width) * -(-page.height // header.block_height)
    cut = 0 < header.restart_interval < blocks
    if not cut and page is not first:
        page = _as_its_jpeg(page, header)
    # A side that a JPEG cannot say is written as 0, or cut to 16 bits: the directory's counts.
    sides = ((page.width, header.width), (page.height, header.height))
    if any(said not in (0, side) for side, said in sides if side <= MAX_JPEG_SIDE):
        raise make_unsupported_error("A level of the file has another size than its JPEG.")
    tile_width, tile_height, pieces = _bands(page, header) if cut else (page.width, page.height, _whole(page))
    if tile_width * tile_height > MAX_TILE_PIXELS:
        raise make_unsupported_error("The file's levels are not cut into slices by restart markers.")
    coding = Coding(
        codec=Codec.JPEG_RESTARTS if cut else Codec.JPEG,
        colour=Colour.AS_CODED,
        tables=header.data if cut else b"",
    )
    info = LevelInfo(
        width=page.width,
        height=page.height,
        downsample=(first.width / page.width + first.height / page.height) / 2,
        tile_width=tile_width,
        tile_height=tile_height,
    )
    return LevelIndex(info, coding, pieces)


def _as_its_jpeg(page: _Page, header: JpegHeader) -> _Page:
    """Return the page with the size of its JPEG if they differ by a pixel: scanners round the two differently in small
    levels, and only the JPEG's is true (OpenSlide PR 729)."""
    off = abs(page.width - header.width), abs(page.height - header.height)
    return replace(page, width=header.width, height=header.height) if max(off) == 1 else page


def _whole(page: _Page) -> TileExtents:
    """Return a level of one tile: small ones have no restart markers."""
    return TileExtents.of_single_pieces(np.array([page.jpeg.start]), np.array([page.jpeg.size]))


def _bands(page: _Page, header: JpegHeader) -> tuple[int, int, TileExtents]:
    """Return (tile width, tile height, slices): tiles as wide as a slice and some rows of blocks high."""
    width, height = header.restart_interval * header.block_width, header.block_height
    if page.width % width or width > MAX_JPEG_SIDE:
        raise make_unsupported_error("The file's restart markers do not cut its levels into equal slices.")
    down, across = -(-page.height // height), page.width // width
    starts = page.starts
    if starts is None or len(starts) != down * across:
        raise make_unsupported_error("The file does not list where the slices of its levels start.")
    edges = np.append(starts, page.jpeg.size)
    if starts[0] != len(header.data) or np.diff(edges).min() <= 2:
        raise make_unsupported_error("The file's list of where the slices of its levels start contradicts itself.")
    # With the markers on both sides, by which a start is known to be one; the first has the header before it.
    begin, end = page.jpeg.start + starts - 2, page.jpeg.start + edges[1:]
    begin[0] = page.jpeg.start
    rows = min(max(1, BAND // height), down)
    numbers = np.arange(down * across).reshape(down, across)
    order = np.concatenate([numbers[top : top + rows].T.ravel() for top in range(0, down, rows)])
    each = np.repeat([min(rows, down - top) for top in range(0, down, rows)], across)
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(each)))
    pieces = TileExtents(first, np.zeros(len(order), np.int32), begin[order], (end - begin)[order])
    return width, rows * height, pieces
