"""Parquet files as all writers of them make them: row groups one after the other, equal bytes for equal rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from wsi.planning.plan import Plan
from wsi.results.geojson import find_shown

if TYPE_CHECKING:
    import pyarrow as pa

MEDIA_TYPE: Final = "application/vnd.apache.parquet"
KEY: Final = b"tessera"  #: of our own metadata, JSON
LEVEL: Final = 1  #: of zstd; 3 takes as long and leaves polygons a tenth larger, 6 takes twice as long


def write_row_groups(
    schema: pa.Schema,
    groups: Iterable[Sequence[pa.Array]],
    file: IO[bytes],
    *,
    dictionaries: Sequence[str],
    without_statistics: Sequence[str] = (),
    finish: Mapping[str, str] | None = None,
) -> None:
    """Write each of the groups, the columns of the schema, as a row group. `finish` is more metadata, read after the
    last group. Columns in `dictionaries` are numbered by their values; other numbers are split by bytes."""
    import pyarrow as pa  # here, since it takes a quarter of a second that readers of text need not wait
    import pyarrow.parquet as pq

    leaves = list(_iterate_leaves(schema))
    with pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=list(dictionaries),
        use_byte_stream_split=[name for name, kind in leaves if pa.types.is_floating(kind)],
        write_statistics=[name for name, _ in leaves if name not in without_statistics],
        write_page_index=True,
    ) as writer:
        for columns in groups:
            batch = pa.record_batch(list(columns), schema=schema)
            writer.write_batch(batch, row_group_size=len(batch))
        if finish is not None:
            writer.add_key_value_metadata(dict(finish))


def describe_frame(plan: Plan, mpp: tuple[float, float]) -> dict[bytes, bytes]:
    """Return the metadata that says what the numbers refer to. Coordinates are level-0 px; subtract `qupath_corner` for
    those of QuPath, which crops some slides."""
    left, top, _, _ = find_shown(plan.inspection)
    value = {
        "plan": plan.digest,
        "model": {"name": plan.card.name, "version": plan.card.version, "digest": plan.card.digest},
        "frame": "level-0 px",
        "size": [plan.inspection.width, plan.inspection.height],
        "mpp": list(mpp),
        "qupath_corner": [left, top],
    }
    return {KEY: json.dumps(value, sort_keys=True).encode()}


def make_floats(values: NDArray[np.floating]) -> pa.Array:
    """Return the values as float32, missing where they are NaN."""
    import pyarrow as pa

    return pa.array(values.astype(np.float32), from_pandas=True)


def _iterate_leaves(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the path and type of each column that holds values."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_struct(field.type):
            yield from ((f"{field.name}.{part.name}", part.type) for part in field.type.fields)
        else:
            yield field.name, field.type
