"""A Leica SCN as OpenSlide's `leica` reads it: one region of a larger slide, whose place the file tells."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import tifffile

from tests.slides import GLASS, he_tissue

NANOMETRES: Final = 500  #: a px of level 0
SLIDE: Final = (4_096, 6_144)  #: px of the whole slide, across and down
REGION: Final = (1_024, 2_048, 1_536, 1_280)  #: x, y, width, height in px of what was scanned
_NAMESPACE: Final = "http://www.leica-microsystems.com/scn/2010/10/01"
_DOWNSAMPLES: Final = (1, 4)
_MACRO: Final = (128, 192)  #: px across and down


def write_scn(path: Path) -> Path:
    """BigTIFF: a macro of the whole slide, then the levels of the region in JPEG tiles of 512 px."""
    rng = np.random.default_rng(0)
    width, height = REGION[2:]
    picture = np.full((height, width, 3), GLASS, np.uint8)
    tissue = he_tissue(rng, height - 400, width - 400)
    picture[200:-200, 200:-200] = tissue
    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        macro = np.full((_MACRO[1], _MACRO[0], 3), GLASS, np.uint8)
        density = 1e7 / NANOMETRES  # px a centimetre
        for page, pixels in enumerate((macro, *(picture[::factor, ::factor] for factor in _DOWNSAMPLES))):
            writer.write(
                pixels,
                photometric="ycbcr",
                subsampling=(2, 2),
                compression="jpeg",
                compressionargs={"level": 85},
                tile=(512, 512),
                resolution=(density, density),
                resolutionunit="CENTIMETER",
                description=_description() if page == 0 else None,
                metadata=None,
                software=False,
            )
    return path


def _description() -> bytes:
    x, y, width, height = REGION
    levels = "".join(
        f'<dimension sizeX="{width // factor}" sizeY="{height // factor}" r="{level}" ifd="{level + 1}"/>'
        for level, factor in enumerate(_DOWNSAMPLES)
    )
    whole = f'sizeX="{SLIDE[0] * NANOMETRES}" sizeY="{SLIDE[1] * NANOMETRES}"'
    part = f'sizeX="{width * NANOMETRES}" sizeY="{height * NANOMETRES}"'
    place = f'offsetX="{x * NANOMETRES}" offsetY="{y * NANOMETRES}"'
    overview = f'<dimension sizeX="{_MACRO[0]}" sizeY="{_MACRO[1]}" r="0" ifd="0"/>'
    macro = _image(f'<view {whole} offsetX="0" offsetY="0"/>', overview, _MACRO, 1.25)
    region = _image(f"<view {part} {place}/>", levels, (width, height), 20)
    collection = f'<collection name="c" {whole}>{macro}{region}</collection>'
    return f'<?xml version="1.0" encoding="utf-8"?><scn xmlns="{_NAMESPACE}">{collection}</scn>'.encode()


def _image(view: str, dimensions: str, size: tuple[int, int], objective: float) -> str:
    return (
        f'<image name="i"><pixels sizeX="{size[0]}" sizeY="{size[1]}">{dimensions}</pixels>{view}'
        f"<scanSettings><objectiveSettings><objective>{objective:g}</objective></objectiveSettings>"
        "<illuminationSettings><illuminationSource>brightfield</illuminationSource></illuminationSettings>"
        "</scanSettings></image>"
    )
