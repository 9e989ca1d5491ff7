"""Reader of a region's polygons from GeoJSON as QuPath and other tools write it. Needs no numpy: the API reads it.

Sources: RFC 7946, with pixels for degrees; QuPath's ROITypeAdapters and PathObjectTypeAdapters, which write features in
a bare array, a collection or alone. Only coordinates are kept: names and notes that tools put next to them may say who
the patient is. A cell's `nucleusGeometry` is not read: the cell holds it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeGuard, cast

from wsi.errors import Invalid
from wsi.planning.thinning import thin_ring
from wsi.records.outline import FARTHEST, MAX_VERTICES, Frame, Outline, Polygon, Ring, compute_area

MAX_BYTES: Final = 64 * 1024**2  #: of a file, unpacked: QuPath writes up to 60 bytes a point when it indents
MAX_POINTS: Final = 500_000  #: of all rings as they come; read in about 1 s
#: px that thinning moves an outline at most, tried in turn: 4 µm at 40x, less than a pixel of a large slide's mask.
TOLERANCES: Final = (4.0, 16.0)
_DEEPEST: Final = 4  #: an array of collections of features of a collection of geometries
#: Kinds without area, and how a note counts one and several of them.
_WITHOUT_AREA: Final = {
    "Point": ("point", "points"),
    "MultiPoint": ("set of points", "sets of points"),
    "LineString": ("line", "lines"),
    "MultiLineString": ("set of lines", "sets of lines"),
}
_EMPTY: Final = ("object without a geometry", "objects without a geometry")
_SLIVER: Final = ("polygon of zero area", "polygons of zero area")
_HOLE: Final = ("hole of zero area", "holes of zero area")
_TINY: Final = ("polygon smaller than what thinning keeps", "polygons smaller than what thinning keeps")


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnRegion:
    outline: Outline
    notes: tuple[str, ...] = ()  #: one sentence each: what was left out, closed or thinned


def read_geojson(value: Any, frame: Frame = Frame.FULL) -> DrawnRegion:
    """Read the polygons of a geometry, a Feature, a FeatureCollection, or an array of these.

    Points, lines, missing geometries and polygons of zero area are left out, rings that are not closed are closed, and
    outlines of more than MAX_VERTICES points are thinned; `notes` lists it. Rings may cross themselves: the even-odd
    rule says what lies inside (`wsi.planning.drawn_mask`).
    Raises Invalid, naming the place, for all else, and if nothing is left.
    """
    left_out: Counter[tuple[str, str]] = Counter()
    found = list(_polygons(value, "the GeoJSON", left_out))
    points = sum(len(ring) for rings, where in found for ring in _rings(rings, where) if _is_list(ring))
    if points > MAX_POINTS:
        raise Invalid(f"The GeoJSON holds more than {MAX_POINTS:,} points: simplify or merge its polygons.")
    closed = 0
    polygons: list[Polygon] = []
    for rings, where in found:
        read = [_ring(ring, f"{where}, ring {number}") for number, ring in enumerate(rings)]
        closed += sum(len(ring) < len(whole) for ring, whole in zip(rings, read, strict=True))
        polygons += _with_area(read, left_out)
    if not polygons:
        held = f": it holds {_describe_counts(left_out)}" if left_out else ""
        raise Invalid(f"The GeoJSON holds no polygon{held}. Draw the region as an area.")
    before = sum(len(ring) for polygon in polygons for ring in polygon)
    moved = 0.0
    if before > MAX_VERTICES:
        polygons, moved = _thin_polygons(polygons, left_out)
    outline = Outline(tuple(polygons), frame)
    return DrawnRegion(outline=outline, notes=tuple(_notes(left_out, closed, before, outline.vertices, moved)))


def _thin_polygons(polygons: list[Polygon], left_out: Counter[tuple[str, str]]) -> tuple[list[Polygon], float]:
    """Return the polygons thinned to as many points as fit, and the largest distance in px by which their edges
    moved."""
    for tolerance in TOLERANCES:
        lost: Counter[tuple[str, str]] = Counter()
        fewer = (tuple(thin_ring(ring, tolerance) for ring in polygon) for polygon in polygons)
        kept = [whole for polygon in fewer for whole in _with_area(polygon, lost)]
        if kept and sum(len(ring) for polygon in kept for ring in polygon) <= MAX_VERTICES:
            left_out[_TINY] += lost[_SLIVER]
            return kept, tolerance
    raise Invalid(
        f"The GeoJSON holds more than {MAX_VERTICES:,} points, also where points closer than {TOLERANCES[-1]:.0f} px "
        "are merged: simplify or merge its polygons."
    )


def _with_area(rings: list[Ring] | Polygon, left_out: Counter[tuple[str, str]]) -> Iterator[Polygon]:
    """Yield the polygon without its holes of zero area, or nothing for a polygon of zero area."""
    outer, *holes = rings
    if not _encloses(outer):
        left_out[_SLIVER] += 1
        return
    kept = tuple(hole for hole in holes if _encloses(hole))
    if lost := len(holes) - len(kept):
        left_out[_HOLE] += lost
    yield (outer, *kept)


def _encloses(ring: Ring) -> bool:
    """Return whether anything is inside the ring. The two halves of a bow-tie cancel in the signed area and still
    enclose something, unlike a path on a straight line or one that returns the way it came."""
    if compute_area(ring) > 0:
        return True
    edges = Counter(frozenset((start, end)) for start, end in pairwise(ring) if start != end)
    if not any(times % 2 for times in edges.values()):
        return False
    (x0, y0), (x1, y1) = ring[0], max(ring, key=lambda point: abs(point[0] - ring[0][0]) + abs(point[1] - ring[0][1]))
    return any((x1 - x0) * (y - y0) != (y1 - y0) * (x - x0) for x, y in ring)


def _notes(left_out: Counter[tuple[str, str]], closed: int, before: int, after: int, moved: float) -> Iterator[str]:
    if +left_out:
        yield f"The region leaves out {_describe_counts(left_out)}."
    if closed:
        yield f"The region had {_describe_count(closed, ('ring', 'rings'))} whose last point is not the first: closed."
    if moved:
        yield (
            f"The region was thinned from {before:,} to {after:,} points; none of its edges moved by more than "
            f"{moved:.0f} px."
        )


def _describe_counts(left_out: Counter[tuple[str, str]]) -> str:
    counted = [_describe_count(number, names) for names, number in left_out.items() if number]
    return " and ".join(filter(None, (", ".join(counted[:-1]), counted[-1])))


def _describe_count(number: int, names: tuple[str, str]) -> str:
    return f"{number:,} {names[number != 1]}"


def _polygons(value: Any, where: str, left_out: Counter[tuple[str, str]], depth: int = 0) -> Iterator[tuple[Any, str]]:
    """Yield the coordinates of each polygon, and its name in an error."""
    if depth > _DEEPEST:
        raise Invalid(f"In {where}, collections lie in collections: GeoJSON knows no such thing.")
    if _is_list(value) and depth == 0:  # what QuPath exports without the tick "as FeatureCollection"
        for number, each in enumerate(value):
            yield from _polygons(each, f"feature {number}", left_out, depth + 1)
        return
    if not isinstance(value, dict):
        raise Invalid(f"In {where}, an object with a type is missing.")
    found = cast("dict[str, Any]", value)
    kind = found.get("type")
    if kind == "FeatureCollection":
        for number, feature in enumerate(_list(found, "features", where)):
            yield from _polygons(feature, f"feature {number}", left_out, depth + 1)
    elif kind == "Feature" and found.get("geometry") is None:
        left_out[_EMPTY] += 1
    elif kind == "Feature":
        yield from _polygons(found["geometry"], where, left_out, depth + 1)
    elif kind == "GeometryCollection":
        for number, geometry in enumerate(_list(found, "geometries", where)):
            yield from _polygons(geometry, f"{where}, geometry {number}", left_out, depth + 1)
    elif kind == "Polygon":
        yield from _skip_empty(_list(found, "coordinates", where), where, left_out)
    elif kind == "MultiPolygon":
        for number, rings in enumerate(_list(found, "coordinates", where)):
            yield from _skip_empty(rings, f"{where}, polygon {number}", left_out)
    elif isinstance(kind, str) and kind in _WITHOUT_AREA:
        left_out[_WITHOUT_AREA[kind]] += 1
    else:
        raise Invalid(f"In {where}, the type must be a Polygon or MultiPolygon, or hold them, not {str(kind)[:40]}.")


def _skip_empty(rings: Any, where: str, left_out: Counter[tuple[str, str]]) -> Iterator[tuple[Any, str]]:
    """Yield the rings and their place, or count empty ones in `left_out`: empty coordinates stand for no geometry (RFC
    7946, 3.1)."""
    if rings == []:
        left_out[_EMPTY] += 1
    else:
        yield rings, where


def _rings(rings: Any, where: str) -> list[Any]:
    if not _is_list(rings):
        raise Invalid(f"In {where}, a polygon has no rings.")
    return rings


def _ring(ring: Any, where: str) -> Ring:
    """Return the closed ring. A point's third number, a height, is left out."""
    if not _is_list(ring) or not ring:
        raise Invalid(f"In {where}, a ring has no points.")
    try:
        xs, ys = [point[0] for point in ring], [point[1] for point in ring]
    except (TypeError, LookupError):
        raise Invalid(f"In {where}, a point is not a pair of numbers.") from None
    if not {*map(type, xs), *map(type, ys)} <= {int, float}:  # True is an int by inheritance alone
        raise Invalid(f"In {where}, a point is not a pair of numbers.")
    if not (_are_near(xs) and _are_near(ys)):
        raise Invalid(f"In {where}, a point lies farther away than any slide reaches: state it in pixels.")
    points = tuple(zip(map(float, xs), map(float, ys), strict=True))
    return points if points[0] == points[-1] else (*points, points[0])


def _are_near(numbers: list[Any]) -> bool:
    """Return False if a number is too far away, infinite or NaN."""
    # In this order: a comparison with NaN says nothing, and a whole number of 400 digits is no float.
    return min(numbers) >= -FARTHEST and max(numbers) <= FARTHEST and all(map(math.isfinite, numbers))


def _list(value: dict[str, Any], name: str, where: str) -> list[Any]:
    found = value.get(name)
    if not _is_list(found):
        raise Invalid(f"In {where}, the list of {name} is missing.")
    return found


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
