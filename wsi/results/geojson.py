"""tiles.geojson.gz: one QuPath tile object for each analysed tile (what QuPath's import takes: peers-and-pitfalls 3.4).

QuPath shows slides that state what was scanned (MRXS, SCN) cropped to it, and counts from that corner (qupath#820). So
does this file; tiles.full.geojson.gz counts from the corner of level 0 and is written for such slides only.
Boxes end where the image ends, so that no object lies outside it; tiles.csv keeps the model's whole box.
"""

from __future__ import annotations

import gzip
import io
import json
import uuid
from typing import IO

from wsi.records.slides import Inspection
from wsi.results.scored_tiles import ScoredTiles

NAME = "tiles.geojson.gz"
FULL_NAME = "tiles.full.geojson.gz"
MEDIA_TYPE = "application/geo+json"

#: Of all tile ids that Tessera ever gives; the plan's digest and the tile's number make the rest.
_IDS = uuid.uuid5(uuid.NAMESPACE_DNS, "tiles.tessera.invalid")


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the tiles in px of what QuPath shows. Tiles entirely outside of it are left out: nothing was scanned there,
    and only a drawn region reaches them."""
    inspection = tiles.plan.inspection
    _write(tiles, file, inspection.bounds or _whole(inspection))


def write_full(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write all tiles in level-0 px."""
    _write(tiles, file, _whole(tiles.plan.inspection))


def has_two_frames(inspection: Inspection) -> bool:
    """Return whether QuPath shows less of the slide than level 0 holds."""
    return inspection.bounds not in (None, _whole(inspection))


def _whole(inspection: Inspection) -> tuple[int, int, int, int]:
    return 0, 0, inspection.width, inspection.height


def _write(tiles: ScoredTiles, file: IO[bytes], shown: tuple[int, int, int, int]) -> None:
    """Write a FeatureCollection, feature by feature, in px from the corner of `shown` (x, y, width, height in level-0
    px). No `classification`: QuPath refuses the whole file for one without a colour."""
    plan = tiles.plan
    left, top, width, height = shown
    grid = plan.grid
    keys = [json.dumps(column.name) for column in plan.card.columns]
    ids = uuid.uuid5(_IDS, plan.digest)
    # No name and no time in the gzip header: equal tiles are equal bytes.
    packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
    with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="") as text:
        text.write('{"type":"FeatureCollection","features":[')
        separator = "\n"
        for number, minx, miny, scores in tiles.iterate_rows():
            x, y = max(minx - left, 0), max(miny - top, 0)
            right, bottom = min(minx - left + grid.side, width), min(miny - top + grid.side_y, height)
            if right <= x or bottom <= y:
                continue
            measurements = ",".join(f"{key}:{score}" for key, score in zip(keys, scores, strict=True))
            text.write(
                f'{separator}{{"type":"Feature","id":"{uuid.uuid5(ids, str(number))}",'
                f'"geometry":{{"type":"Polygon","coordinates":[[[{x},{y}],[{right},{y}],[{right},{bottom}],'
                f"[{x},{bottom}],[{x},{y}]]]}},"
                f'"properties":{{"objectType":"tile","isLocked":true,"measurements":{{{measurements}}}}}}}'
            )
            separator = ",\n"
        text.write("\n]}\n")
