"""objects.geojson.gz: one QuPath detection for each object that a model found (what QuPath's import takes:
peers-and-pitfalls 3.4). As the tiles, it counts from the corner of what QuPath shows; objects.full.geojson.gz counts
from the corner of level 0 and is written for slides only of which QuPath shows less.

Polygons are never cut: one that passes the edge of the image keeps its shape and its measurements. QuPath takes it, as
it takes its own detections that do. An object that lies wholly outside of what is shown is left out, as a tile is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import chain
from typing import IO, Final

import numpy as np

from wsi.objects.blocks import group_tables
from wsi.objects.measurements import SHAPES, compute_measurements
from wsi.objects.rings import PARTS, find_boxes, place_halves
from wsi.objects.table import ObjectTable, PixelLattice
from wsi.results.decimal_text import scale_decimals, write_decimals
from wsi.results.geojson import MEDIA_TYPE, find_shown, find_whole
from wsi.results.objects.class_colours import choose_colour
from wsi.results.objects.polygon_text import END, PolygonTexts, split_texts
from wsi.results.objects.slide_objects import SlideObjects
from wsi.results.text_rows import Texts, join_rows
from wsi.results.tile_ids import ObjectIds

__all__ = ["FULL_NAME", "MEDIA_TYPE", "NAME", "write", "write_full"]

NAME = "objects.geojson.gz"
FULL_NAME = "objects.full.geojson.gz"
ROWS: Final = 4096  #: objects that are text at a time: about 5 MB of it
LEVEL: Final = 1  #: of gzip
SHAPE_PLACES: Final = 3  #: after the point, of lengths in um, areas in um^2 and ratios
CHANCE_PLACES: Final = 4


def write(found: SlideObjects, file: IO[bytes]) -> None:
    """Write the objects in px of what QuPath shows."""
    _write(found, file, find_shown(found.plan.inspection))


def write_full(found: SlideObjects, file: IO[bytes]) -> None:
    """Write the objects in level-0 px."""
    _write(found, file, find_whole(found.plan.inspection))


def _write(found: SlideObjects, file: IO[bytes], shown: tuple[int, int, int, int]) -> None:
    # No name and no time in the gzip header: equal objects are equal bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0) as packed:
        packed.write(b'{"type":"FeatureCollection","features":[')
        is_first = True
        for features in _iterate_features(found, shown):
            packed.write(features[1:] if is_first else features)  # without the comma
            is_first = False
        packed.write(b"\n]}\n")


def _iterate_features(found: SlideObjects, shown: tuple[int, int, int, int]) -> Iterator[bytes]:
    """Yield the text of some thousand features, each after a comma and a line's end."""
    ids = ObjectIds(found.plan.digest)
    polygons = PolygonTexts(found.lattice, shown[:2])
    classes = _write_classes(found.classes)
    for block in group_tables(found.blocks, ROWS):
        table = _select_shown(block, found.lattice, shown)
        if not len(table):
            continue
        measured = compute_measurements(table, found.lattice, found.classes)
        measurements: list[bytes | Texts] = []
        for name, values in measured.items():
            places = SHAPE_PLACES if name in SHAPES else CHANCE_PLACES
            measurements += [f",{json.dumps(name)}:".encode(), write_decimals(scale_decimals(values, places), places)]
        measurements[0] = measurements[0][1:]  # without the comma
        heads = join_rows(
            [
                *(b',\n{"type":"Feature","id":"', ids.write(table.points)),
                *(b'","geometry":{"type":"Polygon","coordinates":[[', END),
            ]
        )
        tails = join_rows(
            [
                *(b'},"properties":{"objectType":"detection","classification":', classes[table.classes]),
                *(b',"measurements":{', *measurements, b"}}}", END),
            ]
        )
        texts = zip(split_texts(heads), polygons.write(table), split_texts(tails), strict=True)
        yield b"".join(chain.from_iterable(texts))


def _select_shown(table: ObjectTable, lattice: PixelLattice, shown: tuple[int, int, int, int]) -> ObjectTable:
    """Return the objects of which a part lies in `shown`: x, y, width, height in level-0 px."""
    left, top, right, bottom = place_halves(
        find_boxes(table), (lattice.step_x, lattice.step_y, lattice.step_x, lattice.step_y)
    ).T
    x, y, width, height = (PARTS * side for side in shown)
    inside = (right > x) & (left < x + width) & (bottom > y) & (top < y + height)
    return table if inside.all() else table.select(np.flatnonzero(inside))


def _write_classes(names: tuple[str, ...]) -> Texts:
    """Return the `classification` of each class. QuPath refuses the whole file for one without a colour."""
    values = [{"name": name, "color": choose_colour(number)} for number, name in enumerate(names)]
    return np.array([json.dumps(value, separators=(",", ":")).encode() for value in values])
