"""The tags of old JPEG (TIFF 6.0, section 22), where each tile is a bare scan and all tables are elsewhere in the
file."""

from __future__ import annotations

from typing import Final

from wsi.slide import tiff
from wsi.slide.codecs.old_jpeg import MOST_PX, make_header
from wsi.slide.tiff import Directory, make_damaged_error

_BASELINE: Final = 1  #: JPEGProc
_QUANT: Final = 64  #: bytes of a quantisation table
_LENGTHS: Final = 16  #: bytes in front of a Huffman table that say how many codes of each length it has
_FULL_RANGE: Final = (0, 255, 128, 255, 128, 255)
_BT_601: Final = (0.299, 0.587, 0.114)


def read_tables(directory: Directory) -> bytes | None:
    """Return the header that all tiles lack. None for a kind of old JPEG that is not read: whole JPEGs behind
    JPEGInterchangeFormat, lossless ones, grey, coefficients other than BT.601's. Raises SlideRejected."""
    width, height = (directory.read_integer(tag, 0) for tag in (tiff.TILE_WIDTH, tiff.TILE_LENGTH))
    places = [directory.read_integers(tag) for tag in (tiff.JPEG_Q_TABLES, tiff.JPEG_DC_TABLES, tiff.JPEG_AC_TABLES)]
    sampling = directory.read_integers(tiff.YCBCR_SUBSAMPLING)
    across, down = (2, 2) if sampling is None or len(sampling) != 2 else map(int, sampling)
    restarts = directory.read_integer(tiff.JPEG_RESTART_INTERVAL, 0)
    if (
        tiff.JPEG_INTERCHANGE_FORMAT in directory
        or directory.read_integer(tiff.JPEG_PROC, 0) != _BASELINE
        or directory.read_integer(tiff.SAMPLES_PER_PIXEL, 1) != 3
        or any(each is None or len(each) != 3 for each in places)
        or {across, down} - {1, 2, 4}
        or any(abs(one - other) > 1e-4 for one, other in zip(_coefficients(directory), _BT_601, strict=True))
        or max(read_reference(directory)) > 65_535
        or not (0 < width <= MOST_PX and 0 < height <= MOST_PX and restarts < 65_536)
    ):
        return None
    quants, dcs, acs = ([int(at) for at in each] for each in places if each is not None)
    of_parts = [
        (directory.read_at(quant, _QUANT), _huffman(directory, dc), _huffman(directory, ac))
        for quant, dc, ac in zip(quants, dcs, acs, strict=True)
    ]
    return make_header(width, height, (across, down), of_parts, restarts)


def read_reference(directory: Directory) -> tuple[int, ...]:
    """Return the black and the white of Y, Cb and Cr; the full range where the directory states none."""
    stated = directory.read_numbers(tiff.REFERENCE_BLACK_WHITE)
    return tuple(int(each) for each in stated) if len(stated) == 6 else _FULL_RANGE


def _huffman(directory: Directory, at: int) -> bytes:
    lengths = directory.read_at(at, _LENGTHS)
    if sum(lengths) > 256:
        raise make_damaged_error("The JPEG tables that the file's tiles share are damaged.")
    return directory.read_at(at, _LENGTHS + sum(lengths))


def _coefficients(directory: Directory) -> tuple[float, ...]:
    stated = directory.read_numbers(tiff.YCBCR_COEFFICIENTS)
    return tuple(stated) if len(stated) == 3 else _BT_601
