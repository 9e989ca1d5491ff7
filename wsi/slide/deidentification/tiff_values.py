"""Tags of a TIFF that stay: numbers have to be numbers, since any of them can hold letters. Source: TIFF 6.0."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from wsi.slide import tiff
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.tiff import Directory

_LONGEST: Final = 64  #: bytes of a few numbers; black and white of three colours take 48
_WORDS: Final = frozenset({1, 2, 6, 7})  #: types of bytes, which may be letters
_FRACTIONS: Final = frozenset({5, 10, 11, 12})
_LETTERS: Final = re.compile(rb"[ -~]{4}")
#: Random numbers with a fraction have four bytes that are letters; six are a word.
_MANY_LETTERS: Final = re.compile(rb"[ -~]{6}")
_PLANES: Final = 2  #: PlanarConfiguration of a page whose samples are apart


def holds_numbers(directory: Directory, tag: int) -> bool:
    """Return whether the value of a tag for numbers is numbers and no text. Raises SlideRejected for a value that is
    longer than it can be."""
    entry = directory.entries[tag]
    size = tiff.compute_size(entry.type, entry.count)
    if size > _LONGEST:
        raise make_deidentification_error(f"Tag {tag} of the file is longer than it can be")
    if entry.type in _WORDS:
        return size <= 1
    letters = _MANY_LETTERS if entry.type in _FRACTIONS else _LETTERS
    return letters.search(directory.read_at(entry.offset, size)) is None


def holds_places(directory: Directory, tag: int) -> bool:
    """Return whether a tag lists places in an image, each at or behind the one before and inside of the file."""
    values = directory.read_integers(tag)
    return values is not None and bool(np.all(np.diff(values) >= 0)) and bool(np.all(values >= 0))


def check_places(directory: Directory, size: int) -> None:
    """Raise SlideRejected if a page lists more tiles than it has, or bytes of a tile that has no place: such numbers
    are of no use to a reader and can be letters. `size` is the file's."""
    tiled = tiff.TILE_WIDTH in directory
    tags = (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS) if tiled else (tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS)
    starts, sizes = (directory.read_integers(tag) for tag in tags)
    if starts is None or sizes is None or len(starts) != len(sizes):
        return  # what reads the pixels says so
    stray = (sizes == 0) & (starts > size) | (starts == 0) & (sizes > 0)
    if len(starts) > _count_pieces(directory, tiled=tiled) or bool(np.any(stray)):
        raise make_deidentification_error("The file lists places of pixels that belong to no image")


def _count_pieces(directory: Directory, *, tiled: bool) -> int:
    width, height = (directory.read_integer(tag, 0) for tag in (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH))
    if tiled:
        across, down = (max(directory.read_integer(tag, 1), 1) for tag in (tiff.TILE_WIDTH, tiff.TILE_LENGTH))
    else:
        across, down = max(width, 1), max(directory.read_integer(tiff.ROWS_PER_STRIP, height), 1)
    planes = directory.read_integer(tiff.PLANAR_CONFIGURATION, 1) == _PLANES
    samples = directory.read_integer(tiff.SAMPLES_PER_PIXEL, 1) if planes else 1
    return -(-width // across) * -(-height // down) * samples * directory.read_integer(tiff.IMAGE_DEPTH, 1)
