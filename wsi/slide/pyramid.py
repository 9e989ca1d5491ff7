"""From TIFF directories to the levels of a slide, for the two layouts that are read natively: Aperio SVS and the
generic tiled pyramid, both with 8-bit three-component JPEG tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide import jpeg, mpp, tiff
from wsi.slide.index import LevelIndex, SlideIndex
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Directory, damaged

MAX_SIDE = 2**31 - 1  #: px of a level
MAX_TILE_PIXELS = 4096 * 4096  #: a decoded tile is at most 48 MiB
_JPEG = 7
_CLASSIC_LIMIT = 2**32  #: bytes; only NDPI stretches a classic TIFF beyond it, in a way of its own


def read_index(source: RangeSource) -> SlideIndex:
    """Raises SlideRejected: TRUNCATED and DAMAGED for what no reader can open, UNSUPPORTED_PIXELS and
    UNSUPPORTED_FORMAT for what another reader may."""
    parsed = tiff.parse(source)
    if not parsed.big and source.size > _CLASSIC_LIMIT:
        raise _unsupported("The file is larger than a classic TIFF can be: save it as BigTIFF.")
    first = parsed.directories[0]
    aperio = first.text(tiff.IMAGE_DESCRIPTION).startswith("Aperio")
    if not aperio:
        _check_generic(first)
    warnings: list[str] = []
    chosen = _levels(parsed.directories, aperio=aperio, warnings=warnings)
    for directory in chosen:
        _check_pixels(directory)
    shapes = [_shape(directory) for directory in chosen]
    width, height = shapes[0][:2]
    levels = tuple(
        _level_index(
            directory,
            LevelInfo(
                width=shape[0],
                height=shape[1],
                # The mean of both sides, as OpenSlide has it: they differ where a side was rounded.
                downsample=(width / shape[0] + height / shape[1]) / 2,
                tile_width=shape[2],
                tile_height=shape[3],
            ),
        )
        for directory, shape in zip(chosen, shapes, strict=True)
    )
    mpp_x, mpp_y, mpp_source = _resolution(first, aperio=aperio)
    inspection = Inspection(
        format="svs" if aperio else "tiff",
        reading_path="native",
        vendor="aperio" if aperio else None,
        width=width,
        height=height,
        levels=tuple(level.info for level in levels),
        mpp_x=mpp_x,
        mpp_y=mpp_y,
        mpp_source=mpp_source,
        warnings=tuple(warnings),
    )
    return SlideIndex(source.etag, source.size, inspection, levels)


def _unsupported(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.UNSUPPORTED_FORMAT, sentence)


def _check_generic(first: Directory) -> None:
    """Leaves alone what another vendor's reader must interpret: NDPI, SCN, Philips, OME, BIF, Trestle."""
    description = first.text(tiff.IMAGE_DESCRIPTION).lstrip("\ufeff \r\n\t")
    libvips = "vips.ecs.soton.ac.uk" in description[:400]
    vendor = tiff.NDPI_VERSION in first or (description.startswith("<") and not libvips)
    vendor = vendor or b"iScan" in (first.data(tiff.XMP) or b"") or first.text(tiff.SOFTWARE).startswith("MedScan")
    if vendor:
        raise _unsupported(
            "The file is laid out in a vendor's own way (NDPI, SCN, Philips, OME, BIF) and could not be opened: export "
            "it as SVS or as a tiled pyramidal TIFF."
        )
    if tiff.TILE_WIDTH not in first:
        raise _unsupported("The file is a TIFF without tiles: save it as a tiled pyramid, or send the scanner's file.")
    if first.integer(tiff.ORIENTATION, 1) != 1:
        raise _unsupported("The file's picture is stored turned: save it upright.")


def _levels(directories: Sequence[Directory], *, aperio: bool, warnings: list[str]) -> list[Directory]:
    """The levels, largest first. Aperio keeps thumbnail, label and macro in strips, every level in tiles; a generic
    pyramid marks its levels as reduced-resolution pages."""
    first = directories[0]
    if tiff.TILE_WIDTH not in first:
        raise damaged("The first image of the file has no tiles.")
    width, height, *_ = _shape(first)
    chosen, others = [first], 0
    for directory in directories[1:]:
        if tiff.TILE_WIDTH not in directory:
            continue
        level_width, level_height, *_ = _shape(directory)
        reduced = aperio or bool(directory.integer(tiff.NEW_SUBFILE_TYPE, 0) & 1)
        if (
            not reduced
            or level_width >= width
            or abs(level_width - level_height * width / height) > max(2, 0.02 * level_width)
        ):
            others += 1
            continue
        chosen.append(directory)
    if others:
        warnings.append(f"The file holds {others} more pages (other planes, or other pictures); the first one is read.")
    return sorted(chosen, key=lambda directory: -_shape(directory)[0])


def _shape(directory: Directory) -> tuple[int, int, int, int]:
    """(width, height, tile width, tile height), each checked."""
    tags = (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH, tiff.TILE_WIDTH, tiff.TILE_LENGTH)
    width, height, tile_width, tile_height = (directory.integer(tag, 0) for tag in tags)
    if not all(0 < side <= MAX_SIDE for side in (width, height, tile_width, tile_height)):
        raise damaged("The file claims a picture or a tile without a size.")
    return width, height, tile_width, tile_height


def _check_pixels(directory: Directory) -> None:
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
    if compression != _JPEG or planar != 1 or photometric not in (jpeg.RGB_PHOTOMETRIC, jpeg.YCBCR_PHOTOMETRIC):
        raise _unsupported(
            f"The file's tiles (compression {compression}, photometric {photometric}, planar {planar}) can not be read."
        )


def _level_index(directory: Directory, info: LevelInfo) -> LevelIndex:
    if info.tile_width * info.tile_height > MAX_TILE_PIXELS:
        raise _unsupported(f"The file's tiles of {info.tile_width} x {info.tile_height} px are too large to read.")
    tiles = -(-info.width // info.tile_width) * -(-info.height // info.tile_height)
    try:
        tables = jpeg.shared_tables(directory.data(tiff.JPEG_TABLES) or b"\xff\xd8\xff\xd9")
    except TileUnreadable as error:
        raise damaged("The JPEG tables that the file's tiles share are damaged.") from error
    return LevelIndex(
        info=info,
        photometric=directory.integer(tiff.PHOTOMETRIC, -1),
        tables=tables,
        offsets=_per_tile(directory, tiff.TILE_OFFSETS, tiles),
        counts=_per_tile(directory, tiff.TILE_BYTE_COUNTS, tiles),
    )


def _per_tile(directory: Directory, tag: int, tiles: int) -> NDArray[np.int64]:
    values = directory.integers(tag)
    if values is None or len(values) != tiles:
        found = 0 if values is None else len(values)
        raise damaged(f"The file lists {found:,} tiles where its size needs {tiles:,}.")
    return values


def _resolution(first: Directory, *, aperio: bool) -> tuple[float | None, float | None, str | None]:
    if aperio:
        stated = mpp.aperio_mpp(first.text(tiff.IMAGE_DESCRIPTION))
        return stated, stated, "aperio" if stated is not None else None
    unit = first.integer(tiff.RESOLUTION_UNIT, 2)
    mpp_x, mpp_y = (mpp.resolution_mpp(first.ratio(tag), unit) for tag in (tiff.X_RESOLUTION, tiff.Y_RESOLUTION))
    return mpp_x, mpp_y, "tiff-resolution" if mpp_x is not None and mpp_y is not None else None
