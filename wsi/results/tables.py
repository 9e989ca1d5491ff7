"""tiles.csv: the columns of WSInfer's model-outputs-csv (peers-and-pitfalls 3.2), one row for each analysed tile."""

from __future__ import annotations

import csv
import io
from typing import IO

from wsi.results.scored_tiles import ScoredTiles

NAME = "tiles.csv"
MEDIA_TYPE = "text/csv"


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write minx, miny, width, height in level-0 px (the model's whole box, even past the slide's edge), then
    scores."""
    width, height = tiles.plan.grid.side, tiles.plan.grid.side_y
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["minx", "miny", "width", "height", *(column.name for column in tiles.plan.card.columns)])
    table.writerows([x, y, width, height, *scores] for _, x, y, scores in tiles.iterate_rows())
    text.flush()
    text.detach()
