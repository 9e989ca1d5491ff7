"""tiles.csv: the columns of WSInfer's model-outputs-csv (peers-and-pitfalls 3.2), one row for each analysed tile."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wsi.results.csv_text import quote_cells
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.text_rows import Texts, combine_texts, join_rows, write_floats, write_integers

NAME = "tiles.csv"
MEDIA_TYPE = "text/csv"
BOX = ("minx", "miny", "width", "height")  #: level-0 px: the model's whole box, even past the slide's edge


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write BOX, then scores."""
    write_table(tiles, [column.name for column in tiles.plan.card.columns], tiles.scores, write_floats, file)


def write_table(
    tiles: ScoredTiles,
    names: Sequence[str],
    values: NDArray[np.float32],
    write_values: Callable[[NDArray[np.float32]], Sequence[Texts]],
    file: IO[bytes],
) -> None:
    """Write BOX, then `values`, [inferred, names], in the texts that `write_values` gives for some of the rows. A name
    is a model's author's: one that a spreadsheet would calculate is quoted."""
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(quote_cells([*BOX, *names]))
    file.write(header.getvalue().encode())
    grid = tiles.plan.grid
    for numbers, some in tiles.iterate_chunks(values):
        x, y = (write_integers(axis) for axis in tiles.plan.tiles[numbers].T)
        file.write(
            join_rows(
                [x, b",", y, b",%d,%d" % (grid.side, grid.side_y), *combine_texts(b",", write_values(some)), b"\n"]
            )
        )
