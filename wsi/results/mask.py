"""tissue.png: the mask that the tiles were selected by, over the whole slide."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from wsi.inspection.mask import DRAWN, SlideMask
from wsi.records.slides import Inspection
from wsi.results.scored_tiles import ScoredTiles
from wsi.slide.codecs.library import load_imagecodecs

NAME = "tissue.png"
MEDIA_TYPE = "image/png"
ANALYSED = 255  #: grey value; all else is 0


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the mask with 8 bits a pixel. Its place on the slide is in the summary (`describe_mask`). Raises ValueError
    for a plan without a mask."""
    if tiles.plan.mask is None:
        raise ValueError("the plan holds no mask")
    file.write(load_imagecodecs().png_encode(tiles.plan.mask.pixels.astype(np.uint8) * ANALYSED, level=9))


def describe_mask(mask: SlideMask, inspection: Inspection) -> dict[str, Any]:
    """Return the mask's entry in summary.json. One pixel of the mask covers `downsample_x` x `downsample_y` level-0
    px."""
    height, width = mask.pixels.shape
    fraction, um2 = inspection.tissue_fraction, inspection.tissue_um2
    if mask.source == DRAWN:
        fraction = float(mask.pixels.mean())
        um2 = fraction * inspection.width * inspection.height * (inspection.mpp_x or 0) * (inspection.mpp_y or 0)
    return {
        "source": mask.source,
        "settings": dict(mask.settings),
        "fraction": fraction,
        "um2": um2,
        "pen_fraction": mask.pen_fraction,
        "mask": {
            "file": NAME,
            "width": width,
            "height": height,
            "downsample_x": inspection.width / width,
            "downsample_y": inspection.height / height,
        },
    }
