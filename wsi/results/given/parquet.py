"""objects.parquet of objects that a user gave: a row for each object of the file, in its order, as GeoParquet 1.1.

Coordinates are level-0 px. `object` is the id that objects.geojson.gz has too, `row` the object's row in tiles.csv,
tiles.parquet and features.h5, from 0. Objects without a tile, or with one that cannot be read, have neither a row nor
values. `class` is the most probable class, of models with several, or else the file's own, which `given_class` has for
all models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from wsi.given.classes import read_class
from wsi.given.objects import Feature
from wsi.given.wkb import encode_geometry
from wsi.results.given.scored_objects import NONE, get_given, iterate_objects, list_classes
from wsi.results.objects.geo_metadata import BOX, GEOMETRY, GeoMetadata
from wsi.results.parquet_file import MEDIA_TYPE, describe_frame, make_floats, write_row_groups
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.tiles_parquet import name_apart

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MEDIA_TYPE", "NAME", "write"]

NAME: Final = "objects.parquet"
ROWS: Final = 16_384  #: of a row group
_BEFORE: Final = (GEOMETRY, "bbox", "x", "y", "object", "row", "class", "given_class")


def write(tiles: ScoredTiles, file: IO[bytes]) -> None:
    """Write the objects in the file's order."""
    metadata = GeoMetadata(["Point", "Polygon"])
    write_row_groups(
        _make_schema(tiles),
        _iterate_groups(tiles, metadata),
        file,
        dictionaries=["class", "given_class"],
        without_statistics=[GEOMETRY],
        finish=metadata,
    )


def _make_schema(tiles: ScoredTiles) -> pa.Schema:
    import pyarrow as pa

    names = name_apart([*_BEFORE, *(column.name for column in tiles.plan.card.columns)])
    fields = [
        pa.field(GEOMETRY, pa.binary(), nullable=False),
        pa.field("bbox", pa.struct([pa.field(side, pa.float64(), nullable=False) for side in BOX]), nullable=False),
        pa.field("x", pa.float64(), nullable=False),
        pa.field("y", pa.float64(), nullable=False),
        pa.field("object", pa.string(), nullable=False),
        pa.field("row", pa.int32()),
        pa.field("class", pa.string()),
        pa.field("given_class", pa.string()),
        *(pa.field(name, pa.float32()) for name in names[len(_BEFORE) :]),
    ]
    return pa.schema(fields, describe_frame(tiles.plan, (tiles.plan.mpp, tiles.plan.mpp_y)))


@dataclass(frozen=True, slots=True)
class _Compact:
    """An object as the table has it. Its feature takes ten times the memory."""

    row: int  #: of its tile, or NONE
    own: str  #: its id
    geometry: bytes
    box: tuple[float, float, float, float]  #: in the order of BOX
    stated: str | None  #: its class


def _iterate_groups(tiles: ScoredTiles, metadata: GeoMetadata) -> Iterator[Sequence[pa.Array]]:
    _, given = get_given(tiles)
    corner = given.find_corner(tiles.plan.inspection.bounds)
    centres, start = given.centres + corner, 0
    compact = (_make_compact(each, corner) for each in iterate_objects(tiles))
    while some := list(islice(compact, ROWS)):
        boxes = np.array([each.box for each in some], np.float64)
        metadata.add(boxes)
        yield _make_columns(tiles, some, boxes, centres[start : start + len(some)])
        start += len(some)


def _make_compact(found: tuple[int, str, Feature], corner: tuple[int, int]) -> _Compact:
    row, own, feature = found
    part, (left, top) = feature["geometry"], corner
    points = [part["coordinates"]] if part["type"] == "Point" else next(ring for ring in part["coordinates"] if ring)
    x, y = [point[0] for point in points], [point[1] for point in points]
    box = min(x) + left, min(y) + top, max(x) + left, max(y) + top
    return _Compact(row, own, encode_geometry(part, corner), box, read_class(feature.get("properties")))


def _make_columns(
    tiles: ScoredTiles, some: Sequence[_Compact], boxes: NDArray[np.float64], centres: NDArray[np.float64]
) -> Sequence[pa.Array]:
    import pyarrow as pa

    rows = np.array([each.row for each in some])
    scored = rows != NONE
    scores = np.full((len(some), tiles.scores.shape[1]), np.nan, np.float32)
    scores[scored] = tiles.scores[rows[scored]]
    own = [each.stated for each in some]
    chosen, classes = own.copy(), list_classes(tiles.plan.card)
    for place in np.flatnonzero(scored).tolist() if classes else ():
        chosen[place] = classes[int(scores[place].argmax())]
    sides = [pa.array(side) for side in boxes.T.copy()]
    return [
        pa.array([each.geometry for each in some], pa.binary()),
        pa.StructArray.from_arrays(sides, fields=[pa.field(side, pa.float64(), nullable=False) for side in BOX]),
        *(pa.array(axis) for axis in centres.T.copy()),
        pa.array([each.own for each in some], pa.string()),
        pa.array([None if each.row == NONE else each.row for each in some], pa.int32()),
        pa.array(chosen, pa.string()),
        pa.array(own, pa.string()),
        *(make_floats(column) for column in scores.T.copy()),
    ]
