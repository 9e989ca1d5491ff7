"""The features of a GeoParquet table (geoparquet.org/releases/v1.1.0), as GeoJSON has them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from wsi.errors import Invalid
from wsi.given.wkb import decode_geometry
from wsi.records.outline import Frame

if TYPE_CHECKING:
    import pyarrow as pa

_GEO: Final = b"geo"
_OURS: Final = b"tessera"  #: `wsi.results.parquet_file.KEY`
_KEYS: Final = frozenset({_GEO, _OURS})
_ROWS: Final = 4096  #: that are Python's objects at a time
#: Names that columns have where they are no measurements, the first that a table has.
_IDS: Final = ("object", "id", "cell_id")
_CLASSES: Final = ("class", "classification")
_NAMES: Final = ("name",)
_PLACES: Final = frozenset({"x", "y"})
_REMEDY: Final = "write it as GeoParquet, with geometries as WKB"


class TableFeatures:
    """The rows of a table. Floating-point columns are measurements."""

    def __init__(self, table: pa.Table, geometry: str) -> None:
        import pyarrow as pa

        self._geometry = geometry
        names = table.column_names
        self._id, self._class, self._name = (_find_name(names, known) for known in (_IDS, _CLASSES, _NAMES))
        self._measurements = [
            name for name in names if name not in _PLACES and pa.types.is_floating(table.schema.field(name).type)
        ]
        used = [geometry, self._id, self._class, self._name, *self._measurements]
        self._table = table.select([name for name in used if name is not None])

    def iterate_raw(self) -> Iterator[dict[str, Any]]:
        """Yield the feature of each row."""
        for batch in self._table.to_batches(max_chunksize=_ROWS):
            for row in batch.to_pylist():
                yield self._make_feature(row)

    def _make_feature(self, row: Mapping[str, Any]) -> dict[str, Any]:
        data = row[self._geometry]
        properties: dict[str, Any] = {"objectType": "detection"}
        if self._name is not None and row[self._name] is not None:
            properties["name"] = str(row[self._name])
        if self._class is not None and row[self._class] is not None:
            properties["classification"] = {"name": str(row[self._class])}
        measured = {name: row[name] for name in self._measurements if row[name] is not None}
        if measured:
            properties["measurements"] = measured
        feature: dict[str, Any] = {"type": "Feature"}
        if self._id is not None and row[self._id] is not None:
            feature["id"] = row[self._id]
        geometry = None if data is None else decode_geometry(data, "the table")
        return {**feature, "geometry": geometry, "properties": properties}


def read_table(data: bytes, frame: Frame) -> TableFeatures:
    """Return the features of a Parquet file. Raises Invalid, also where the file says what it counts from, and that is
    not `frame`."""
    import pyarrow as pa  # here, since it takes a quarter of a second that readers of GeoJSON need not wait
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
        metadata = {key: json.loads(value) for key, value in (table.schema.metadata or {}).items() if key in _KEYS}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Invalid(f"The file is damaged, or no Parquet that can be read: {_REMEDY}.") from error
    if _OURS in metadata and frame is not Frame.FULL:
        raise Invalid("A Parquet file of Tessera counts from the corner of level 0: its frame is full, not qupath.")
    geometry = metadata.get(_GEO, {}).get("primary_column", "geometry")
    encoding = metadata.get(_GEO, {}).get("columns", {}).get(geometry, {}).get("encoding", "WKB")
    if geometry not in table.column_names or encoding != "WKB":
        raise Invalid(f"The file is Parquet without outlines or points that can be read: {_REMEDY}.")
    kind = table.schema.field(geometry).type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise Invalid(f"The column {geometry} of the file holds no geometries that can be read: {_REMEDY}.")
    return TableFeatures(table, geometry)


def _find_name(names: list[str], known: tuple[str, ...]) -> str | None:
    return next((name for name in known if name in names), None)
