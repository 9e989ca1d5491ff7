"""The levels of a slide, from TIFF directories: what all TIFF layouts share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide import tiff
from wsi.slide.index import IndexedFile, LevelIndex, SlideIndex, TileExtents
from wsi.slide.layouts.pyramids import StoredImage, compute_unpadded_size
from wsi.slide.layouts.tiff_coding import read_coding
from wsi.slide.mpp import Mpp
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Directory, make_damaged_error

MAX_SIDE = 2**31 - 1  #: px of a level
MAX_TILE_PIXELS = 4096 * 4096  #: a decoded tile is at most 48 MiB
_LEAST_BYTES = 6  #: that a tile takes in a file: its place and its size in the lists, were its pixels shared
_OTHER_BYTES = 1024**2  #: label, macro or directories that may lie between the last whole tile and the first cut one
_CUT_TILES = "The file ends before its last tiles: the upload or copy was cut short."


def build_slide_index(
    source: RangeSource,
    directories: Sequence[Directory],
    *,
    format: str,
    vendor: str | None,
    mpp: Mpp,
    warnings: Sequence[str] = (),
    sparse: bool = False,
) -> SlideIndex:
    """Build the index of a slide. `directories` are the levels, largest first. With `sparse`, a tile without a place
    and a size was never scanned and is glass; without, it is unreadable. Raises SlideRejected: what `check_claims`,
    `build_level_index` and `check_tail` raise."""
    shapes = [read_shape(directory) for directory in directories]
    for sides in shapes:
        check_claims(*sides, source.size)
    directories[0].prefetch(directories[1:], (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS, tiff.JPEG_TABLES))
    width, height = shapes[0][:2]
    sizes = [_compute_unpadded_size(sides, shapes[0]) for sides in shapes]
    levels = tuple(
        build_level_index(
            directory,
            LevelInfo(
                width=across,
                height=down,
                # The mean of both sides, as OpenSlide has it: they differ where a side was rounded.
                downsample=(width / across + height / down) / 2,
                tile_width=tile_width,
                tile_height=tile_height,
            ),
            sparse=sparse,
        )
        for directory, (across, down), (_, _, tile_width, tile_height) in zip(directories, sizes, shapes, strict=True)
    )
    check_tail(levels, source.size)
    inspection = Inspection(
        format=format,
        reading_path="native",
        vendor=vendor,
        width=width,
        height=height,
        levels=tuple(level.info for level in levels),
        mpp_x=mpp.x,
        mpp_y=mpp.y,
        mpp_source=mpp.source,
        mpp_conflict=mpp.conflict,
        mpp_unread=mpp.unread,
        icc=any(tiff.ICC_PROFILE in directory for directory in directories),
        warnings=(*mpp.warnings, *warnings, *_warn_of_absent_tiles(levels[0])),
    )
    return SlideIndex((IndexedFile(source.etag, source.size),), inspection, levels)


def _compute_unpadded_size(sides: Sequence[int], base: Sequence[int]) -> tuple[int, int]:
    """Return the size in px of what a level shows of level 0. Both are given as `read_shape` returns them."""
    image, whole = (
        StoredImage(number=0, width=width, height=height, tile=(tile_width, tile_height))
        for width, height, tile_width, tile_height in (sides, base)
    )
    return compute_unpadded_size(image, whole)


def make_unsupported_error(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.UNSUPPORTED_FORMAT, sentence)


def read_shape(directory: Directory) -> tuple[int, int, int, int]:
    """Return (width, height, tile width, tile height) in px, each checked. Raises SlideRejected DAMAGED."""
    tags = (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH, tiff.TILE_WIDTH, tiff.TILE_LENGTH)
    width, height, tile_width, tile_height = (directory.read_integer(tag, 0) for tag in tags)
    if not all(0 < side <= MAX_SIDE for side in (width, height, tile_width, tile_height)):
        raise make_damaged_error("The file claims a picture or a tile without a size.")
    return width, height, tile_width, tile_height


def read_image_size(directory: Directory) -> tuple[int, int]:
    """Return (width, height) in px, also of an image without tiles. Raises SlideRejected DAMAGED."""
    width, height = (directory.read_integer(tag, 0) for tag in (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH))
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise make_damaged_error("The file claims an image without a size.")
    return width, height


def build_level_index(directory: Directory, info: LevelInfo, *, sparse: bool = False) -> LevelIndex:
    """Build the index of a level whose claims `check_claims` has checked. Raises SlideRejected: what
    `tiff_coding.read_coding` raises, and DAMAGED."""
    how = read_coding(directory)
    tiles = _tiles(info.width, info.height, info.tile_width, info.tile_height)
    planes = how.samples if how.planes else 1
    offsets, sizes = (_per_tile(directory, tag, tiles * planes) for tag in (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS))
    if planes == 1:
        kept = (offsets != 0) | (sizes != 0)
        if not sparse or kept.all():
            return LevelIndex(info, how, TileExtents.of_single_pieces(offsets, sizes))
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))
        files = np.zeros(int(first[-1]), np.int32)
        return LevelIndex(info, how, TileExtents(first, files, offsets[kept], sizes[kept]), holes=True)
    # TIFF lists all tiles of the first plane, then all of the second: here those of a tile follow each other.
    by_tile = (values.reshape(planes, tiles).T.ravel() for values in (offsets, sizes))
    first = np.arange(0, tiles * planes + 1, planes, dtype=np.int64)
    return LevelIndex(info, how, TileExtents(first, np.zeros(tiles * planes, np.int32), *by_tile))


def _warn_of_absent_tiles(base: LevelIndex) -> Iterator[str]:
    if base.holes:
        tiles = len(base.pieces.first) - 1
        absent = tiles - int(np.count_nonzero(np.diff(base.pieces.first)))
        yield f"The file was written without {absent:,} of its {tiles:,} tiles; they are read as glass."


def check_claims(width: int, height: int, tile_width: int, tile_height: int, file_size: int) -> None:
    """Raise SlideRejected CLAIMS_TOO_MUCH if tiles are too large or do not fit into the file, before anything that
    large is read."""
    if tile_width * tile_height > MAX_TILE_PIXELS:
        raise SlideRejected(
            RejectReason.CLAIMS_TOO_MUCH,
            f"The file claims tiles of {tile_width:,} x {tile_height:,} px, more than can be read at once: save it "
            "with smaller ones.",
        )
    tiles = _tiles(width, height, tile_width, tile_height)
    if tiles * _LEAST_BYTES > file_size:
        raise SlideRejected(
            RejectReason.CLAIMS_TOO_MUCH,
            f"The file claims {width:,} x {height:,} px, whose {tiles:,} tiles do not fit into its "
            f"{file_size:,} bytes.",
        )


def _tiles(width: int, height: int, tile_width: int, tile_height: int) -> int:
    return -(-width // tile_width) * -(-height // tile_height)


def check_tail(levels: Sequence[LevelIndex], file_size: int) -> None:
    """Raise SlideRejected TRUNCATED if the missing bytes begin with those of a tile. A place far beyond the end is one
    tile's wrong number instead, and makes that tile unreadable."""
    for level in levels:
        pieces = level.pieces
        ends = pieces.offsets + pieces.sizes
        missing = (ends > file_size) & (pieces.sizes > 0) & (pieces.sizes <= level.most_bytes)
        if missing.any() and int(pieces.offsets[missing].min()) <= file_size + _OTHER_BYTES:
            raise SlideRejected(RejectReason.TRUNCATED, _CUT_TILES)


def _per_tile(directory: Directory, tag: int, tiles: int) -> NDArray[np.int64]:
    values = directory.read_integers(tag)
    if values is None or len(values) != tiles:
        found = 0 if values is None else len(values)
        raise make_damaged_error(f"The file lists {found:,} tiles where its size needs {tiles:,}.")
    return values
