"""A region that a user has drawn: GeoJSON polygons in place of tissue detection. Needs no numpy: the API reads it.

Only coordinates are kept. Names and notes that tools put beside them may say who the patient is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, TypeGuard, cast

from wsi.errors import Invalid
from wsi.records.slides import Inspection

MAX_VERTICES: Final = 20_000  #: of all rings; a job's options are a row of SQL, and these are about 400 KB of it
MAX_BYTES: Final = 8 * 1024**2  #: of a file of GeoJSON with all that tools put beside coordinates
FARTHEST: Final = 2**31  #: px; farther than any slide
_DEEPEST: Final = 3  #: a collection of features of a collection of geometries

Point = tuple[float, float]  #: x, y in level-0 px
Ring = tuple[Point, ...]  #: closed: the last point is the first
Polygon = tuple[Ring, ...]  #: the outer ring, then its holes


class Frame(StrEnum):
    """What coordinates count from."""

    FULL = "full"  #: the corner of level 0, as our results do
    QUPATH = "qupath"  #: the corner of what was scanned, where the format tells: QuPath shows such slides cropped


@dataclass(frozen=True, slots=True)
class Outline:
    polygons: tuple[Polygon, ...]
    frame: Frame = Frame.FULL

    @property
    def vertices(self) -> int:
        return sum(len(ring) for polygon in self.polygons for ring in polygon)

    def as_json(self) -> dict[str, Any]:
        return {"frame": self.frame.value, "polygons": self.polygons}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Outline:
        polygons = tuple(tuple(tuple((x, y) for x, y in ring) for ring in polygon) for polygon in value["polygons"])
        return Outline(polygons, Frame(value["frame"]))

    def on_slide(self, bounds: tuple[int, int, int, int] | None) -> tuple[Polygon, ...]:
        """In the frame of level 0; `bounds` are those of the inspection."""
        if self.frame is Frame.FULL or bounds is None:
            return self.polygons
        left, top = bounds[:2]
        return tuple(
            tuple(tuple((x + left, y + top) for x, y in ring) for ring in polygon) for polygon in self.polygons
        )


def read_geojson(value: Any, frame: Frame = Frame.FULL) -> Outline:
    """Of a Polygon, a MultiPolygon, a GeometryCollection, a Feature or a FeatureCollection of them (RFC 7946, with
    pixels for degrees). Raises Invalid, naming the place, for all else, rings that are not closed or without area, and
    more than MAX_VERTICES."""
    polygons: list[Polygon] = []
    vertices = 0
    for rings, where in _polygons(value, "the GeoJSON"):
        for ring in rings:
            vertices += len(ring) if _is_list(ring) else 0
        if vertices > MAX_VERTICES:
            raise Invalid(f"The GeoJSON holds more than {MAX_VERTICES:,} points: simplify its polygons.")
        polygons.append(tuple(_ring(ring, f"{where}, ring {number}") for number, ring in enumerate(rings)))
    if not polygons:
        raise Invalid("The GeoJSON holds no polygon.")
    return Outline(tuple(polygons), frame)


def box(polygons: Sequence[Polygon]) -> tuple[float, float, float, float]:
    """left, top, right, bottom of all."""
    points = [point for polygon in polygons for point in polygon[0]]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def missed(polygons: Sequence[Polygon], inspection: Inspection) -> str | None:
    """What to say of a region off the slide; None for one that lies on it. In the frame of level 0."""
    left, top, right, bottom = box(polygons)
    if left < inspection.width and top < inspection.height and right > 0 and bottom > 0:
        return None
    return (
        f"The region misses the slide of {inspection.width} x {inspection.height} px: state it in pixels of the full "
        "resolution, and say with its frame what they count from."
    )


def area(ring: Ring) -> float:
    """px², without sign."""
    x, y = ring[0]  # near the ring, so that large coordinates cancel nothing
    return abs(math.fsum((ax - x) * (by - y) - (bx - x) * (ay - y) for (ax, ay), (bx, by) in pairwise(ring))) / 2


def _polygons(value: Any, where: str, depth: int = 0) -> Iterator[tuple[list[Any], str]]:
    """The coordinates of each polygon, and what it is called in an error."""
    if depth > _DEEPEST:
        raise Invalid(f"In {where}, collections lie in collections: GeoJSON knows no such thing.")
    if not isinstance(value, dict):
        raise Invalid(f"In {where}, an object with a type is missing.")
    found = cast("dict[str, Any]", value)
    kind = found.get("type")
    if kind == "FeatureCollection":
        for number, feature in enumerate(_list(found, "features", where)):
            yield from _polygons(feature, f"feature {number}", depth + 1)
    elif kind == "Feature":
        yield from _polygons(found.get("geometry"), where, depth + 1)
    elif kind == "GeometryCollection":
        for number, geometry in enumerate(_list(found, "geometries", where)):
            yield from _polygons(geometry, f"{where}, geometry {number}", depth + 1)
    elif kind == "Polygon":
        yield _rings(_list(found, "coordinates", where), where), where
    elif kind == "MultiPolygon":
        for number, rings in enumerate(_list(found, "coordinates", where)):
            yield _rings(rings, f"{where}, polygon {number}"), f"{where}, polygon {number}"
    else:
        raise Invalid(f"In {where}, the type must be a Polygon or MultiPolygon, or hold them, not {str(kind)[:40]}.")


def _rings(rings: Any, where: str) -> list[Any]:
    if not _is_list(rings) or not rings:
        raise Invalid(f"In {where}, a polygon has no rings.")
    return rings


def _ring(ring: Any, where: str) -> Ring:
    if not _is_list(ring) or len(ring) < 4:
        raise Invalid(f"In {where}, there are fewer than four points.")
    points = tuple(_point(point, where) for point in ring)
    if points[0] != points[-1]:
        raise Invalid(f"In {where}, the last point is not the first: close the ring.")
    if area(points) == 0:
        raise Invalid(f"In {where}, the ring encloses nothing.")
    return points


def _point(point: Any, where: str) -> Point:
    """A third number, a height, is left out."""
    if not _is_list(point) or len(point) < 2 or not all(_is_number(number) for number in point[:2]):
        raise Invalid(f"In {where}, a point is not a pair of numbers.")
    if not max(abs(point[0]), abs(point[1])) <= FARTHEST:  # Nor is infinity, nor what is no number.
        raise Invalid(f"In {where}, a point lies farther away than any slide reaches.")
    return float(point[0]), float(point[1])


def _list(value: dict[str, Any], name: str, where: str) -> list[Any]:
    found = value.get(name)
    if not _is_list(found):
        raise Invalid(f"In {where}, the list of {name} is missing.")
    return found


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
