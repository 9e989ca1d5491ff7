"""Draws the outlines that a run found over the slide, for a look at what is right and wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

import tessera

SCALE: Final = 2  #: px of the image a level-0 px, at which the outlines leave most of the slide visible
WIDTH: Final = 2  #: px of the image
COLOUR: Final = (0, 255, 60)
PALETTE: Final = 96  #: colours of the PNG: half the bytes of all colours, and no difference to the eye
NAMES: Final = ("objects.full.geojson.gz", "objects.geojson.gz")  #: the first that exists has level-0 px


class PixelRectangle(NamedTuple):
    """A rectangle of the slide, in level-0 px."""

    left: int
    top: int
    width: int
    height: int


def draw_outlines(slide: Path, results: Path, out: Path, place: PixelRectangle) -> int:
    """Write a PNG of the place with the outlines of the objects in `results`, the folder of one slide. Return how many
    objects it shows, wholly or in part. Raises FileNotFoundError for results without objects."""
    path = next((path for name in NAMES if (path := results / name).exists()), results / NAMES[-1])
    with gzip.open(path) as file:
        features = json.load(file)["features"]
    with tessera.open(slide) as opened:
        pixels = opened.read_region((place.left, place.top), (place.width, place.height))
    whole = Image.fromarray(pixels).resize((SCALE * place.width, SCALE * place.height), Image.Resampling.LANCZOS)
    image = whole.quantize(PALETTE, dither=Image.Dither.NONE)
    #: A colour of its own, which the choice of the others would have dulled.
    image.putpalette([*(image.getpalette() or [])[: 3 * PALETTE], *COLOUR])
    drawing = ImageDraw.Draw(image)
    shown = 0
    for feature in features:
        rings = [(np.array(ring) - place[:2]) * SCALE for ring in feature["geometry"]["coordinates"]]
        low, high = rings[0].min(axis=0), rings[0].max(axis=0)
        if (high < 0).any() or (low > image.size).any():
            continue
        shown += 1
        for ring in rings:
            drawing.line([tuple(corner) for corner in ring.tolist()], fill=PALETTE, width=WIDTH)
    image.save(out, optimize=True)
    return shown
