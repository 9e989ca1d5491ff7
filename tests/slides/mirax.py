"""A MIRAX slide as 3DHISTECH's scanners lay it out: an .mrxs file, and a folder of its name with Slidedat.ini, an index
of linked pages and a file of JPEGs (openslide-vendor-mirax.c says how). One level, no overlap."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from imagecodecs import jpeg_encode
from numpy.typing import NDArray

SIDE = 256  #: px of a camera image
SLIDE_ID = "0123456789ABCDEF0123456789ABCDEF"


def write_mirax(path: Path, pixels: NDArray[np.uint8], *, mpp: float = 0.5) -> Path:
    """`pixels`: uint8 [H, W, 3], sides multiples of 256. Returns `path`, which ends in .mrxs."""
    down, across = pixels.shape[0] // SIDE, pixels.shape[1] // SIDE
    folder = path.with_suffix("")
    folder.mkdir(parents=True)
    images = [
        jpeg_encode(pixels[SIDE * y : SIDE * (y + 1), SIDE * x : SIDE * (x + 1)], level=90)
        for y in range(down)
        for x in range(across)
    ]
    path.write_bytes(images[0])
    (folder / "Data0000.dat").write_bytes(b"".join(images))
    (folder / "Index.dat").write_bytes(_index([len(image) for image in images]))
    (folder / "Slidedat.ini").write_text(_slidedat(across, down, mpp))
    return path


def _index(lengths: list[int]) -> bytes:
    head = b"01.02" + SLIDE_ID.encode()
    roots = len(head) + 8  # behind the pointers to the roots of levels and of all else
    level, page = roots + 4, roots + 12
    items, offset = list[bytes](), 0
    for number, length in enumerate(lengths):
        items.append(struct.pack("<4i", number, offset, length, 0))
        offset += length
    pointers = struct.pack("<3i2i2i", roots, roots, level, 0, page, len(items), 0)
    return head + pointers + b"".join(items)


def _slidedat(across: int, down: int, mpp: float) -> str:
    return f"""[GENERAL]
SLIDE_ID = {SLIDE_ID}
SLIDE_VERSION = 1.9
IMAGENUMBER_X = {across}
IMAGENUMBER_Y = {down}
OBJECTIVE_MAGNIFICATION = 20
CameraImageDivisionsPerSide = 1
[HIERARCHICAL]
HIER_COUNT = 1
NONHIER_COUNT = 0
INDEXFILE = Index.dat
HIER_0_NAME = Slide zoom level
HIER_0_COUNT = 1
HIER_0_VAL_0 = ZoomLevel_0
HIER_0_VAL_0_SECTION = LAYER_0_LEVEL_0_SECTION
[DATAFILE]
FILE_COUNT = 1
FILE_0 = Data0000.dat
[LAYER_0_LEVEL_0_SECTION]
OVERLAP_X = 0
OVERLAP_Y = 0
MICROMETER_PER_PIXEL_X = {mpp}
MICROMETER_PER_PIXEL_Y = {mpp}
IMAGE_FORMAT = JPEG
IMAGE_FILL_COLOR_BGR = 16777215
DIGITIZER_WIDTH = {SIDE}
DIGITIZER_HEIGHT = {SIDE}
IMAGE_CONCAT_FACTOR = 0
"""
