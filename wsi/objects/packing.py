"""The bytes of objects and parts: columns one after the other behind a line that says how long each is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.objects.part_table import PartTable
from wsi.objects.table import ObjectTable

Columns = Mapping[str, str]  #: name -> numpy's type, little endian

OBJECTS: Final[Columns] = {
    "tiles": "<i4",
    "points": "<i4",
    "areas": "<i4",
    "centroids": "<f8",
    "classes": "|u1",
    "chances": "<f4",
    "first_rings": "<i4",
    "first_vertices": "<i4",
    "vertices": "<i4",
}
PARTS: Final[Columns] = {
    "tiles": "<i4",
    "boxes": "<i4",
    "areas": "<i4",
    "sums": "<i8",
    "first_bytes": "<i8",
    "bits": "|u1",
}


def pack_objects(table: ObjectTable) -> bytes:
    return _pack(table, OBJECTS)


def unpack_objects(data: bytes) -> ObjectTable:
    return ObjectTable(**_unpack(data, OBJECTS))  # pyright: ignore[reportArgumentType]


def pack_parts(table: PartTable) -> bytes:
    return _pack(table, PARTS)


def unpack_parts(data: bytes) -> PartTable:
    return PartTable(**_unpack(data, PARTS))  # pyright: ignore[reportArgumentType]


def _pack(table: ObjectTable | PartTable, columns: Columns) -> bytes:
    arrays = [np.ascontiguousarray(getattr(table, name), kind) for name, kind in columns.items()]
    head = json.dumps([array.shape for array in arrays]).encode()
    return b"\n".join([head, b"".join(array.tobytes() for array in arrays)])


def _unpack(data: bytes, columns: Columns) -> dict[str, NDArray[np.generic]]:
    """Return the columns. Raises ValueError if the bytes are not those of such a table."""
    head, _, body = data.partition(b"\n")
    shapes: list[list[int]] = json.loads(head)
    found: dict[str, NDArray[np.generic]] = {}
    start = 0
    for (name, kind), shape in zip(columns.items(), shapes, strict=True):
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        column = np.frombuffer(body[start : start + size], kind).reshape(shape)
        found[name] = column.astype(column.dtype.newbyteorder("="))
        start += size
    if start != len(body):
        raise ValueError("the table's bytes are not as long as they say")
    return found
