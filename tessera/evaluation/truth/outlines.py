"""Outlines with their classes from GeoJSON, as QuPath and other tools write regions and objects.

Sources: QuPath's ROITypeAdapters and PathObjectTypeAdapters. `wsi.given.classes` reads the classes. A cell's
`nucleusGeometry` is not read: the cell holds it. Names and notes of
objects are not read either, as they may say who the patient is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import shapely
from numpy.typing import NDArray

from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.packed_json import read_packed_json
from wsi.errors import Invalid
from wsi.given.classes import read_class
from wsi.records.outline import FARTHEST

UNCLASSIFIED: Final = "Unclassified"  #: what QuPath calls objects without a class
MAX_BYTES: Final = 2 * 1024**3  #: of a file, unpacked: 100,000 cells with 60 measurements each have 0.4 GB
_REMEDY: Final = "export the objects without measurements"
_DEEPEST: Final = 4  #: an array of collections of features of a collection of geometries
_LEAST_RING: Final = 3  #: points of a ring, its end not repeated
_LINES: Final = frozenset({"LineString", "MultiLineString"})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TruthOutlines:
    """Objects of one file, a feature each, in px as the file counts them."""

    shapes: NDArray[np.object_]  #: [n] valid polygons and multipolygons; points where the file has points
    classes: tuple[str, ...]  #: [n] UNCLASSIFIED: the file states none
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])  #: by kind: what is no outline
    repaired: int = 0  #: outlines that crossed themselves; the even-odd rule says what is inside
    in_parts: int = 0  #: outlines of several separate parts, which count as one object each

    def __len__(self) -> int:
        return len(self.classes)

    def select(self, chosen: NDArray[np.bool_]) -> TruthOutlines:
        """Return the chosen objects, with the counts of the file."""
        names = tuple(self.classes[number] for number in np.flatnonzero(chosen))
        return replace(self, shapes=self.shapes[chosen], classes=names)

    def move(self, left: float, top: float) -> TruthOutlines:
        """Return the objects moved by so many px."""
        if not (left or top):
            return self
        offset = np.array([left, top])
        return replace(self, shapes=_as_shapes(shapely.transform(self.shapes, lambda points: points + offset)))


def read_outlines(path: Path, *, what: str = "truth", split_parts: bool = False) -> TruthOutlines:
    """Read the outlines of a file. With `split_parts`, each part of a feature is an object. Raises UsageError."""
    value = read_packed_json(path, what=what, most_bytes=MAX_BYTES, remedy=_REMEDY)
    try:
        return parse_outlines(value, split_parts=split_parts)
    except Invalid as error:
        raise UsageError(f"{path}: {error.sentence}") from None


def parse_outlines(value: Any, *, split_parts: bool = False) -> TruthOutlines:
    """Return the outlines of a Feature, a FeatureCollection, a geometry, or an array of these. Raises Invalid."""
    builder = _Builder()
    for number, (geometry, name) in enumerate(_iterate_features(value, "the GeoJSON")):
        builder.add_feature(geometry, name, f"feature {number}", split_parts=split_parts)
    return builder.build()


class _Builder:
    """Coordinates of all rings side by side: shapely makes 100,000 polygons of them at once."""

    def __init__(self) -> None:
        self._points: list[NDArray[np.float64]] = []  #: of each ring
        self._polygons: list[int] = []  #: of each ring, the number of its polygon
        self._objects: list[int] = []  #: of each polygon, the number of its object
        self._classes: list[str] = []
        self._dots: list[NDArray[np.float64]] = []  #: of each point, x and y
        self._dot_classes: list[str] = []
        self._left_out: Counter[str] = Counter()

    def add_feature(self, geometry: Any, name: str, where: str, *, split_parts: bool) -> None:
        parts: list[list[Any]] = []
        for polygon in self._list_polygons(geometry, name, where, 0):
            rings = [ring for ring in (_read_ring(ring, where) for ring in polygon) if ring is not None]
            if not rings or len(rings[0]) < _LEAST_RING:
                self._left_out["outline without area"] += 1
                continue
            parts.append(rings)
        for number, rings in enumerate(parts):
            if number == 0 or split_parts:
                self._classes.append(name)
            for ring in rings:
                if len(ring) >= _LEAST_RING:
                    self._points.append(ring)
                    self._polygons.append(len(self._objects))
            self._objects.append(len(self._classes) - 1)

    def build(self) -> TruthOutlines:
        shapes, in_parts = np.zeros(0, object), 0
        if self._objects:
            sizes = np.array([len(ring) for ring in self._points])
            lines = shapely.linearrings(np.concatenate(self._points), indices=np.repeat(np.arange(len(sizes)), sizes))
            polygons = _as_shapes(shapely.polygons(lines, indices=np.array(self._polygons)))  # pyright: ignore[reportCallIssue, reportArgumentType]
            owners = np.array(self._objects)
            _, firsts, parts = np.unique(owners, return_index=True, return_counts=True)
            shapes, in_parts = polygons[firsts], int((parts > 1).sum())
            for number in np.flatnonzero(parts > 1):
                first = firsts[number]
                shapes[number] = shapely.union_all(shapely.make_valid(polygons[first : first + parts[number]]))
        wrong = ~shapely.is_valid(shapes)
        shapes[wrong] = shapely.make_valid(shapes[wrong])
        with_area = shapely.area(shapes) > 0
        if not with_area.all():
            self._left_out["outline without area"] += int((~with_area).sum())
        dots = _as_shapes(shapely.points(np.array(self._dots)) if self._dots else [])
        kept = [name for name, keep in zip(self._classes, with_area, strict=True) if keep]
        return TruthOutlines(
            shapes=np.concatenate([shapes[with_area], dots]),
            classes=(*kept, *self._dot_classes),
            left_out=dict(self._left_out),
            repaired=int(wrong.sum()),
            in_parts=in_parts,
        )

    def _list_polygons(self, geometry: Any, name: str, where: str, depth: int) -> Iterator[Sequence[Any]]:
        """Yield the rings of each polygon; keep points, and count what is neither."""
        if geometry is None:
            self._left_out["object without a geometry"] += 1
            return
        if not isinstance(geometry, dict) or depth > _DEEPEST:
            raise Invalid(f"in {where}, a geometry with a type is missing.")
        held = cast("dict[str, Any]", geometry)
        kind, coordinates = str(held.get("type")), held.get("coordinates")
        if kind == "GeometryCollection":
            for each in _list(held.get("geometries"), where):
                yield from self._list_polygons(each, name, where, depth + 1)
        elif kind in ("Polygon", "MultiPolygon"):
            polygons = [coordinates] if kind == "Polygon" else _list(coordinates, where)
            for rings in polygons:
                yield _list(rings, where)
        elif kind in ("Point", "MultiPoint"):
            dots = [coordinates] if kind == "Point" else _list(coordinates, where)
            for dot in _read_points(dots, where):
                self._dots.append(dot)
                self._dot_classes.append(name)
        elif kind in _LINES:
            self._left_out["line"] += 1
        else:
            raise Invalid(f"in {where}, the type must be a Polygon or MultiPolygon, not {kind[:40]}.")


def _iterate_features(value: Any, where: str, depth: int = 0) -> Iterator[tuple[Any, str]]:
    """Yield the geometry of each feature, and the name of its class."""
    if depth > _DEEPEST:
        raise Invalid(f"in {where}, collections lie in collections: GeoJSON knows no such thing.")
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _iterate_features(each, where, depth + 1)
        return
    if not isinstance(value, dict):
        raise Invalid(f"in {where}, an object with a type is missing: export it as GeoJSON.")
    held = cast("dict[str, Any]", value)
    if held.get("type") == "FeatureCollection":
        yield from _iterate_features(_list(held.get("features"), where), where, depth + 1)
    elif held.get("type") == "Feature":
        yield held.get("geometry"), read_class(held.get("properties")) or UNCLASSIFIED
    else:
        yield held, UNCLASSIFIED


def _as_shapes(shapes: Any) -> NDArray[np.object_]:
    return np.asarray(shapes, object)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Invalid(f"in {where}, a list is missing: export it as GeoJSON again.")
    return cast("list[Any]", value)


def _read_ring(ring: Any, where: str) -> NDArray[np.float64] | None:
    """Return the points of the ring, its end not repeated; None for an empty one."""
    if ring == []:
        return None
    points = _read_points(ring, where)
    return points[:-1] if len(points) > 1 and (points[0] == points[-1]).all() else points


def _read_points(points: Any, where: str) -> NDArray[np.float64]:
    """Return [points, 2]. A third number, a height, is left out."""
    try:
        read = np.array([point[:2] for point in points], np.float64)
    except (TypeError, ValueError, LookupError):
        raise Invalid(f"in {where}, a point is not a pair of numbers.") from None
    if read.ndim != 2 or read.shape[1] != 2:
        raise Invalid(f"in {where}, a point is not a pair of numbers.")
    if not (np.abs(read) <= FARTHEST).all():  # NaN is not
        raise Invalid(f"in {where}, a point lies farther away than any slide reaches: state it in pixels.")
    return read
