"""objects.parquet: a row for each object that a model found, as GeoParquet 1.1 (geoparquet.org/releases/v1.1.0).

Coordinates are level-0 px, in files of all slides: metadata under "tessera" state the corner that QuPath counts from.
There is no CRS, since a slide is no place on Earth. Polygons are those of objects.geojson.gz. `x` and `y` are means
over the px of an object; `probability` is QuPath's "Detection probability", and all other measurements have its names.
Row groups and pages have the least and largest values of `bbox`, so that a reader fetches those of a region alone; this
saves much if blocks come along a curve (`wsi.objects.ordering`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final

import numpy as np

from wsi.objects.blocks import group_tables
from wsi.objects.measurements import PROBABILITY, compute_measurements, name_measurements
from wsi.objects.rings import PARTS, find_boxes, place_halves
from wsi.objects.table import ObjectTable
from wsi.results.objects.geo_metadata import BOX, GEOMETRY, GeoMetadata
from wsi.results.objects.polygon_wkb import encode_polygons
from wsi.results.objects.slide_objects import SlideObjects
from wsi.results.parquet_file import MEDIA_TYPE, describe_frame, make_floats, write_row_groups

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MEDIA_TYPE", "NAME", "write"]

NAME = "objects.parquet"
ROWS: Final = 16_384  #: of a row group: about 5 MB of the file


def write(found: SlideObjects, file: IO[bytes]) -> None:
    """Write the objects in the order in which they come."""
    extent = GeoMetadata(["Polygon"])
    write_row_groups(
        _make_schema(found),
        _iterate_groups(found, extent),
        file,
        dictionaries=["class"],
        without_statistics=[GEOMETRY],
        finish=extent,
    )


def _name_floats(found: SlideObjects) -> Sequence[str]:
    return [name for name in name_measurements(found.classes) if name != PROBABILITY]


def _make_schema(found: SlideObjects) -> pa.Schema:
    import pyarrow as pa

    fields = [
        pa.field(GEOMETRY, pa.binary(), nullable=False),
        pa.field("bbox", pa.struct([pa.field(side, pa.float64(), nullable=False) for side in BOX]), nullable=False),
        pa.field("x", pa.float64(), nullable=False),
        pa.field("y", pa.float64(), nullable=False),
        pa.field("class", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("probability", pa.float32(), nullable=False),
        *(pa.field(name, pa.float32(), nullable=False) for name in _name_floats(found)),
        pa.field("tile", pa.int32(), nullable=False),
    ]
    return pa.schema(fields, describe_frame(found.plan, (found.lattice.mpp_x, found.lattice.mpp_y)))


def _iterate_groups(found: SlideObjects, extent: GeoMetadata) -> Iterator[Sequence[pa.Array]]:
    for table in group_tables(found.blocks, ROWS):
        yield _make_columns(table, found, extent)


def _make_columns(table: ObjectTable, found: SlideObjects, extent: GeoMetadata) -> Sequence[pa.Array]:
    import pyarrow as pa

    steps = found.lattice.step_x, found.lattice.step_y
    boxes = place_halves(find_boxes(table), steps * 2) / PARTS
    extent.add(boxes)
    polygons = encode_polygons(table, found.lattice)
    centres = np.rint(table.centroids * steps * PARTS) / PARTS
    measured = compute_measurements(table, found.lattice, found.classes)
    buffers = [None, pa.py_buffer(polygons.offsets), pa.py_buffer(polygons.data)]
    sides = [pa.array(side) for side in boxes.T.copy()]
    return [
        pa.Array.from_buffers(pa.binary(), len(table), buffers),
        pa.StructArray.from_arrays(sides, fields=[pa.field(side, pa.float64(), nullable=False) for side in BOX]),
        *(pa.array(axis) for axis in centres.T.copy()),
        pa.DictionaryArray.from_arrays(table.classes.astype(np.int16), pa.array(found.classes, pa.string())),
        make_floats(measured[PROBABILITY]),
        *(make_floats(measured[name]) for name in _name_floats(found)),
        pa.array(table.tiles),
    ]
