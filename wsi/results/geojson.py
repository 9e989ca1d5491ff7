"""tiles.geojson.gz: one QuPath tile object for each analysed tile (what QuPath's import takes: peers-and-pitfalls 3.4).

QuPath shows slides that state what was scanned (MRXS, SCN) cropped to it, and counts from that corner (qupath#820). So
does this file; tiles.full.geojson.gz counts from the corner of level 0 and is written for such slides only.
Boxes end where the image ends, so that no object lies outside it; tiles.csv keeps the model's whole box.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import IO

import numpy as np

from wsi.records.slides import Inspection
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.text_rows import join_rows, write_floats, write_integers
from wsi.results.tile_ids import TileIds

NAME = "tiles.geojson.gz"
FULL_NAME = "tiles.full.geojson.gz"
MEDIA_TYPE = "application/geo+json"


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the tiles in px of what QuPath shows. Tiles entirely outside of it are left out: nothing was scanned there,
    and only a drawn region reaches them."""
    _write(tiles, file, find_shown(tiles.plan.inspection))


def write_full(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write all tiles in level-0 px."""
    _write(tiles, file, find_whole(tiles.plan.inspection))


def has_two_frames(inspection: Inspection) -> bool:
    """Return whether QuPath shows less of the slide than level 0 holds."""
    return find_shown(inspection) != find_whole(inspection)


def find_shown(inspection: Inspection) -> tuple[int, int, int, int]:
    """Return what QuPath shows of the slide: x, y, width, height in level-0 px."""
    return inspection.bounds or find_whole(inspection)


def find_whole(inspection: Inspection) -> tuple[int, int, int, int]:
    """Return all of level 0, as `find_shown` does."""
    return 0, 0, inspection.width, inspection.height


def _write(tiles: ScoredTiles, file: IO[bytes], shown: tuple[int, int, int, int]) -> None:
    """Write a FeatureCollection, some thousand features at a time, in px from the corner of `shown` (x, y, width,
    height in level-0 px). No `classification`: QuPath refuses the whole file for one without a colour."""
    # No name and no time in the gzip header: equal tiles are equal bytes.
    packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
    with packed:
        packed.write(b'{"type":"FeatureCollection","features":[')
        is_first = True
        for features in _iterate_features(tiles, shown):
            packed.write(features[1:] if is_first else features)  # without the comma
            is_first = False
        packed.write(b"\n]}\n")
        packed.flush()  # an empty block, as files of all releases have it: a job stitched again has the same bytes


def _iterate_features(tiles: ScoredTiles, shown: tuple[int, int, int, int]) -> Iterator[bytes]:
    """Yield the text of some thousand features, each after a comma and a line's end."""
    plan, (left, top, width, height) = tiles.plan, shown
    ids = TileIds(plan.digest)
    names = [f"{json.dumps(column.name)}:".encode() for column in plan.card.columns]
    for numbers, scores in tiles.iterate_chunks(tiles.scores):
        corner = plan.tiles[numbers] - np.array([left, top], np.int32)
        begin = np.maximum(corner, 0)
        end = np.minimum(corner + np.array([plan.grid.side, plan.grid.side_y], np.int32), [width, height])
        inside = (end > begin).all(axis=1)
        if not inside.any():
            continue
        (x, y), (right, bottom) = (map(write_integers, corners[inside].T) for corners in (begin, end))
        texts = zip(names, write_floats(scores[inside]), strict=True)
        measurements = [part for name, text in texts for part in (b",", name, text)][1:]
        yield join_rows(
            [
                *(b',\n{"type":"Feature","id":"', ids.write(numbers[inside].tolist())),
                *(b'","geometry":{"type":"Polygon","coordinates":[[[', x, b",", y, b"],["),
                *(right, b",", y, b"],[", right, b",", bottom, b"],["),
                *(x, b",", bottom, b"],[", x, b",", y, b"]]]},"),
                b'"properties":{"objectType":"tile","isLocked":true,"measurements":{',
                *measurements,
                b"}}}",
            ]
        )
