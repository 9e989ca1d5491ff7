"""tile_quality.csv: how each analysed tile looks, one row for each row of tiles.csv. A separate file, since tools take
every column of tiles.csv past the fourth for a model's (WSInfer's model-outputs-csv)."""

from __future__ import annotations

import csv
import io
from typing import IO, Any

import numpy as np

from wsi.results.scored_tiles import ScoredTiles, as_text
from wsi.results.tile_quality import COLUMNS, MOSTLY, QUALITY_VERSION, WITH_PEN

NAME = "tile_quality.csv"
MEDIA_TYPE = "text/csv"


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write minx, miny, width, height as in tiles.csv; then COLUMNS of `wsi.results.tile_quality`, empty where an older
    worker did not measure them."""
    width, height = tiles.plan.grid.side, tiles.plan.grid.side_y
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["minx", "miny", "width", "height", *COLUMNS])
    for numbers, values in tiles.iterate_chunks(tiles.quality):
        origins: list[list[int]] = tiles.plan.tiles[numbers].tolist()
        for (x, y), row in zip(origins, as_text(values), strict=True):
            table.writerow([x, y, width, height, *("" if value == "nan" else value for value in row)])
    text.flush()
    text.detach()


def describe(tiles: ScoredTiles) -> dict[str, Any]:
    """Return the qualities' entry in summary.json: medians over the measured tiles, and how many are mostly glass or
    hold ink."""
    found = tiles.quality[~np.isnan(tiles.quality).any(axis=1)]
    value: dict[str, Any] = {"version": QUALITY_VERSION, "measured": len(found)}
    if not len(found):
        return value
    columns = dict(zip(COLUMNS, found.T, strict=True))
    return value | {
        "medians": {name: round(float(np.median(column)), 4) for name, column in columns.items()},
        "mostly_white": int((columns["white_fraction"] >= MOSTLY).sum()),
        "with_pen": int((columns["pen_fraction"] >= WITH_PEN).sum()),
    }
