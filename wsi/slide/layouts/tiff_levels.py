"""From TIFF directories to the levels of a slide: what all TIFF layouts share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide import jpeg, tiff
from wsi.slide.coding import Codec, Coding, Colour
from wsi.slide.index import IndexedFile, LevelIndex, Pieces, SlideIndex
from wsi.slide.mpp import Mpp, StatedMpp, resolution_mpp
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Directory, damaged

MAX_SIDE = 2**31 - 1  #: px of a level
MAX_TILE_PIXELS = 4096 * 4096  #: a decoded tile is at most 48 MiB
_JPEG = 7
_COLOURS = {2: Colour.RGB, 6: Colour.YCBCR}  #: PhotometricInterpretation


def slide_index(
    source: RangeSource,
    directories: Sequence[Directory],
    *,
    format: str,
    vendor: str | None,
    mpp: Mpp,
    warnings: Sequence[str] = (),
) -> SlideIndex:
    """`directories` are the levels, largest first. Raises SlideRejected DAMAGED, UNSUPPORTED_PIXELS and
    UNSUPPORTED_FORMAT."""
    for directory in directories:
        check_pixels(directory)
    shapes = [shape(directory) for directory in directories]
    directories[0].prefetch(directories[1:], (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS, tiff.JPEG_TABLES))
    width, height = shapes[0][:2]
    levels = tuple(
        level_index(
            directory,
            LevelInfo(
                width=across,
                height=down,
                # The mean of both sides, as OpenSlide has it: they differ where a side was rounded.
                downsample=(width / across + height / down) / 2,
                tile_width=tile_width,
                tile_height=tile_height,
            ),
        )
        for directory, (across, down, tile_width, tile_height) in zip(directories, shapes, strict=True)
    )
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
        warnings=(*mpp.warnings, *warnings),
    )
    return SlideIndex((IndexedFile(source.etag, source.size),), inspection, levels)


def resolution(directory: Directory) -> StatedMpp:
    """What the TIFF's own resolution tags say; every layout has them, and most vendors something better."""
    unit = directory.integer(tiff.RESOLUTION_UNIT, 2)
    across, down = (resolution_mpp(directory.ratio(tag), unit) for tag in (tiff.X_RESOLUTION, tiff.Y_RESOLUTION))
    return StatedMpp("tiff-resolution", across, down)


def unsupported(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.UNSUPPORTED_FORMAT, sentence)


def shape(directory: Directory) -> tuple[int, int, int, int]:
    """(width, height, tile width, tile height), each checked."""
    tags = (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH, tiff.TILE_WIDTH, tiff.TILE_LENGTH)
    width, height, tile_width, tile_height = (directory.integer(tag, 0) for tag in tags)
    if not all(0 < side <= MAX_SIDE for side in (width, height, tile_width, tile_height)):
        raise damaged("The file claims a picture or a tile without a size.")
    return width, height, tile_width, tile_height


def check_pixels(directory: Directory) -> None:
    bits = directory.integers(tiff.BITS_PER_SAMPLE)
    samples = directory.integer(tiff.SAMPLES_PER_PIXEL, 1)
    if samples != 3 or bits is None or set(bits.tolist()) != {8}:
        depth = "1" if bits is None else "/".join(str(bit) for bit in sorted(set(bits.tolist())))
        raise SlideRejected(
            RejectReason.UNSUPPORTED_PIXELS,
            f"The file stores {samples} samples of {depth} bits a pixel where models expect red, green and blue of 8.",
        )
    photometric = directory.integer(tiff.PHOTOMETRIC, -1)
    planar = directory.integer(tiff.PLANAR_CONFIGURATION, 1)
    compression = directory.integer(tiff.COMPRESSION, 1)
    if compression != _JPEG or planar != 1 or photometric not in _COLOURS:
        raise unsupported(
            f"The file's tiles (compression {compression}, photometric {photometric}, planar {planar}) can not be read."
        )


def level_index(directory: Directory, info: LevelInfo) -> LevelIndex:
    if info.tile_width * info.tile_height > MAX_TILE_PIXELS:
        raise unsupported(f"The file's tiles of {info.tile_width} x {info.tile_height} px are too large to read.")
    tiles = -(-info.width // info.tile_width) * -(-info.height // info.tile_height)
    try:
        tables = jpeg.shared_tables(directory.data(tiff.JPEG_TABLES) or b"\xff\xd8\xff\xd9")
    except TileUnreadable as error:
        raise damaged("The JPEG tables that the file's tiles share are damaged.") from error
    coding = Coding(codec=Codec.JPEG, colour=_COLOURS[directory.integer(tiff.PHOTOMETRIC, -1)], tables=tables)
    offsets = _per_tile(directory, tiff.TILE_OFFSETS, tiles)
    return LevelIndex(info, coding, Pieces.one_each(offsets, _per_tile(directory, tiff.TILE_BYTE_COUNTS, tiles)))


def _per_tile(directory: Directory, tag: int, tiles: int) -> NDArray[np.int64]:
    values = directory.integers(tag)
    if values is None or len(values) != tiles:
        found = 0 if values is None else len(values)
        raise damaged(f"The file lists {found:,} tiles where its size needs {tiles:,}.")
    return values


def same_shape(directory: Directory, first: Directory) -> bool:
    """A smaller picture of the same proportions: what a level of `first` is."""
    width, height, *_ = shape(first)
    level_width, level_height, *_ = shape(directory)
    off = abs(level_width - level_height * width / height)
    return level_width < width and off <= max(2, 0.02 * level_width)
