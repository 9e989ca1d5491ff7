"""tile_quality.csv: how each analysed tile looks, one row for each row of tiles.csv. A separate file, since tools take
every column of tiles.csv past the fourth for a model's (WSInfer's model-outputs-csv)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wsi.results.scored_tiles import ScoredTiles
from wsi.results.tables import write_table
from wsi.results.text_rows import Texts, write_floats
from wsi.results.tile_quality import COLUMNS, MOSTLY, QUALITY_VERSION, WITH_PEN

NAME = "tile_quality.csv"
MEDIA_TYPE = "text/csv"


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the box as in tiles.csv; then COLUMNS of `wsi.results.tile_quality`, empty where an older worker did not
    measure them."""
    write_table(tiles, COLUMNS, tiles.quality, _write_measured, file)


def _write_measured(values: NDArray[np.float32]) -> Sequence[Texts]:
    """Return texts of each column, empty where the value is not a number."""
    columns = zip(write_floats(values), values.T, strict=True)
    return [np.where(np.isnan(value), b"", text) for text, value in columns]


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
