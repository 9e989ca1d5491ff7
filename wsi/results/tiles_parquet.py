"""tiles.parquet: tiles.csv and tile_quality.csv in one table, with types, one row for each analysed tile in the same
order. Of an embedding model it has boxes and quality alone: its numbers are in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final

import numpy as np

from wsi.results.parquet_file import MEDIA_TYPE, describe_frame, make_floats, write_row_groups
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.tables import BOX
from wsi.results.tile_quality import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MEDIA_TYPE", "NAME", "write"]

NAME = "tiles.parquet"
ROWS: Final = 65_536  #: of a row group


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write BOX in level-0 px, int32; the model's columns, float32; then COLUMNS of `wsi.results.tile_quality`,
    float32, missing where an older worker did not measure them."""
    import pyarrow as pa

    names = name_apart([*BOX, *(column.name for column in tiles.plan.card.columns), *COLUMNS])
    kinds = [pa.int32()] * len(BOX) + [pa.float32()] * (len(names) - len(BOX))
    measured = set(names[: -len(COLUMNS)])
    fields = [pa.field(name, kind, nullable=name not in measured) for name, kind in zip(names, kinds, strict=True)]
    schema = pa.schema(fields, describe_frame(tiles.plan, (tiles.plan.mpp, tiles.plan.mpp_y)))
    write_row_groups(schema, _iterate_groups(tiles), file, dictionaries=BOX)


def name_apart(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind each that came before. Names are an author's, and many readers of Parquet
    refuse two that are equal, in capitals or not."""
    taken: set[str] = set()
    found: list[str] = []
    for name in names:
        other, number = name, 2
        while other.casefold() in taken:
            other, number = f"{name} {number}", number + 1
        taken.add(other.casefold())
        found.append(other)
    return found


def _iterate_groups(tiles: ScoredTiles) -> Iterator[Sequence[pa.Array]]:
    import pyarrow as pa

    sides = tiles.plan.grid.side, tiles.plan.grid.side_y
    for start in range(0, len(tiles.inferred), ROWS):
        some = slice(start, start + ROWS)
        corners = tiles.plan.tiles[tiles.inferred[some]]
        yield [
            *(pa.array(axis) for axis in corners.T.copy()),
            *(pa.array(np.full(len(corners), side, np.int32)) for side in sides),
            *(make_floats(column) for column in tiles.scores[some].T.copy()),
            *(make_floats(column) for column in tiles.quality[some].T.copy()),
        ]
