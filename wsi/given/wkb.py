"""Geometries as Well-Known Binary (OGC 06-103r4, 8.2), also as PostGIS extends it."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import Invalid
from wsi.given.geometries import Geometry

_POINT, _POLYGON, _COLLECTION = 1, 3, 7
_KINDS: Final = {
    _POINT: "Point",
    2: "LineString",
    _POLYGON: "Polygon",
    4: "MultiPoint",
    5: "MultiLineString",
    6: "MultiPolygon",
    _COLLECTION: "GeometryCollection",
}
_HEIGHT, _MEASURE, _SRID = 0x8000_0000, 0x4000_0000, 0x2000_0000  #: flags of PostGIS in the number of the kind
_NUMBERS_BY_THOUSAND: Final = {0: 2, 1: 3, 2: 3, 3: 4}  #: of a point, by the thousands in the number of the kind


def decode_geometry(data: bytes, where: str) -> Geometry:
    """Return the geometry as GeoJSON has it. Raises Invalid, which names the place, `where`."""
    try:
        return _GeometryReader(data).read_geometry()
    except (struct.error, ValueError, KeyError, IndexError, RecursionError):
        raise Invalid(
            f"In {where}, the geometry is not Well-Known Binary: write the file as GeoParquet again."
        ) from None


class _GeometryReader:
    """A reader of one geometry's bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def read_geometry(self) -> Geometry:
        order = "<" if self._data[self._place] else ">"
        self._place += 1
        kind = self._read_word(order)
        numbers = 2 + bool(kind & _HEIGHT) + bool(kind & _MEASURE)
        if kind & _SRID:
            self._read_word(order)
        kind &= ~(_HEIGHT | _MEASURE | _SRID)
        numbers = max(numbers, _NUMBERS_BY_THOUSAND[kind // 1000])
        kind %= 1000
        name = _KINDS[kind]
        if kind == _COLLECTION:
            return {"type": name, "geometries": [self.read_geometry() for _ in range(self._read_word(order))]}
        return {"type": name, "coordinates": self._read_coordinates(kind, order, numbers)}

    def _read_coordinates(self, kind: int, order: str, numbers: int) -> Any:
        if kind == _POINT:
            point = self._read_points(1, order, numbers)[0].tolist()
            return [] if np.isnan(point).any() else point  # an empty point
        if kind == _POLYGON:
            rings = range(self._read_word(order))
            return [self._read_points(self._read_word(order), order, numbers).tolist() for _ in rings]
        if _KINDS[kind] == "LineString":
            return self._read_points(self._read_word(order), order, numbers).tolist()
        return [self.read_geometry()["coordinates"] for _ in range(self._read_word(order))]

    def _read_word(self, order: str) -> int:
        (word,) = struct.unpack_from(f"{order}I", self._data, self._place)
        self._place += 4
        return word

    def _read_points(self, count: int, order: str, numbers: int) -> NDArray[np.float64]:
        found = np.frombuffer(self._data, f"{order}f8", count * numbers, self._place)
        self._place += found.nbytes
        return found.reshape(count, numbers)[:, :2]


def encode_geometry(part: Geometry, corner: tuple[int, int]) -> bytes:
    """Return a polygon or a point, moved by `corner`. Rings that are not closed are closed."""
    if part["type"] == "Point":
        x, y = part["coordinates"][:2]
        return struct.pack("<BIdd", 1, _POINT, x + corner[0], y + corner[1])
    rings = [ring for ring in part["coordinates"] if ring]
    pieces = [struct.pack("<BII", 1, _POLYGON, len(rings))]
    for ring in rings:
        points = np.array(ring, "<f8")[:, :2] + corner
        if (points[0] != points[-1]).any():
            points = np.concatenate([points, points[:1]])
        pieces += [struct.pack("<I", len(points)), points.tobytes()]
    return b"".join(pieces)
