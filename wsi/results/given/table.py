"""tile_objects.csv: the object that each tile is around, one row for each row of tiles.csv. It is a separate file,
since tools take every column of tiles.csv past the fourth for a model's (WSInfer's model-outputs-csv)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import IO, Final

from wsi.results.csv_text import quote_cells
from wsi.results.given.scored_objects import get_given
from wsi.results.scored_tiles import CHUNK, ScoredTiles
from wsi.results.tables import BOX, MEDIA_TYPE

__all__ = ["MEDIA_TYPE", "NAME", "write"]

NAME: Final = "tile_objects.csv"
COLUMNS: Final = ("object", "number")  #: the id; the place in the file, from 0


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the box as in tiles.csv, then COLUMNS."""
    planned, given = get_given(tiles)
    side, side_y = tiles.plan.grid.side, tiles.plan.grid.side_y
    file.write(_write_rows([[*BOX, *COLUMNS]]))
    for start in range(0, len(tiles.inferred), CHUNK):
        chosen = tiles.inferred[start : start + CHUNK]
        corners, numbers = tiles.plan.tiles[chosen].tolist(), planned.numbers[chosen].tolist()
        rows = zip(corners, numbers, strict=True)
        file.write(_write_rows([[x, y, side, side_y, given.ids[number], number] for (x, y), number in rows]))


def _write_rows(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(quote_cells(row) for row in rows)
    return text.getvalue().encode()
