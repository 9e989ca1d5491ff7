"""tiles.geojson.gz: one QuPath tile object an analysed tile (what QuPath's import takes: peers-and-pitfalls 3.4).

Boxes end where the slide ends, so that no object lies outside the image; tiles.csv keeps the model's whole box.
"""

from __future__ import annotations

import gzip
import io
import json
import uuid
from typing import IO

from wsi.results.scored_tiles import ScoredTiles

NAME = "tiles.geojson.gz"
MEDIA_TYPE = "application/geo+json"

#: Of all tile ids that Tessera ever gives; the plan's digest and the tile's number make the rest.
_IDS = uuid.uuid5(uuid.NAMESPACE_DNS, "tiles.tessera.invalid")


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """A FeatureCollection in level-0 px, written feature by feature. No `classification`: QuPath refuses the whole
    file for one without a colour."""
    plan = tiles.plan
    width, height, grid = plan.inspection.width, plan.inspection.height, plan.grid
    keys = [json.dumps(column.name) for column in plan.card.columns]
    ids = uuid.uuid5(_IDS, plan.digest)
    # No name and no time in the gzip header: equal tiles are equal bytes.
    packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
    with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="") as text:
        text.write('{"type":"FeatureCollection","features":[')
        separator = "\n"
        for number, x, y, scores in tiles.rows():
            right, bottom = min(x + grid.side, width), min(y + grid.side_y, height)
            measurements = ",".join(f"{key}:{score}" for key, score in zip(keys, scores, strict=True))
            text.write(
                f'{separator}{{"type":"Feature","id":"{uuid.uuid5(ids, str(number))}",'
                f'"geometry":{{"type":"Polygon","coordinates":[[[{x},{y}],[{right},{y}],[{right},{bottom}],'
                f"[{x},{bottom}],[{x},{y}]]]}},"
                f'"properties":{{"objectType":"tile","isLocked":true,"measurements":{{{measurements}}}}}}}'
            )
            separator = ",\n"
        text.write("\n]}\n")
