"""The polygons and points of geometries, and the centres of outlines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from wsi.errors import Invalid
from wsi.records.outline import FARTHEST

Geometry = dict[str, Any]  #: a Polygon or a Point of GeoJSON
Points = NDArray[np.float64]  #: [n, 2] x, y in px

_DEEPEST: Final = 4  #: collections in collections
_PARTS_OF: Final = {"MultiPolygon": "Polygon", "MultiPoint": "Point"}
_LINES: Final = frozenset({"LineString", "MultiLineString"})
#: Share of an outline's bounding box below which its area cannot be told from rounding.
_NO_AREA: Final = 1e-9
#: Share of what an outline sweeps below which its two halves cancel, and it has no centroid.
_CANCELS: Final = 1e-6


def iterate_parts(geometry: Any, where: str, left_out: Counter[str]) -> Iterator[Geometry]:
    """Yield each polygon and each point of a geometry. `left_out` counts what is neither, by kind. Raises Invalid,
    which names the place, `where`."""
    if geometry is None:
        left_out["object without a geometry"] += 1
    else:
        yield from _iterate_parts(geometry, where, left_out, 0)


def _iterate_parts(geometry: Any, where: str, left_out: Counter[str], depth: int) -> Iterator[Geometry]:
    if not isinstance(geometry, dict) or depth > _DEEPEST:
        raise Invalid(f"In {where}, a geometry with a type is missing: export the objects as GeoJSON.")
    held = cast("Geometry", geometry)
    kind = str(held.get("type"))
    if kind == "GeometryCollection":
        for each in _list(held.get("geometries"), where):
            yield from _iterate_parts(each, where, left_out, depth + 1)
    elif kind in _PARTS_OF:
        for each in _list(held.get("coordinates"), where):
            yield {"type": _PARTS_OF[kind], "coordinates": each}
    elif kind in ("Polygon", "Point"):
        if held.get("coordinates") == []:  # empty ones stand for no geometry (RFC 7946, 3.1)
            left_out["object without a geometry"] += 1
        else:
            yield held
    elif kind in _LINES:
        left_out["line"] += 1
    else:
        raise Invalid(f"In {where}, the type must be a Polygon or a Point, or hold them, not {kind[:40]}.")


def read_outline(part: Geometry, where: str) -> Points:
    """Return the points of a polygon's outer ring, or the one of a point. Its holes are checked too. Raises Invalid."""
    if part["type"] == "Point":
        return _read_points([part.get("coordinates")], where)
    rings = [_read_points(ring, where) for ring in _list(part.get("coordinates"), where) if ring != []]
    return rings[0] if rings else np.empty((0, 2))


def find_centres(outlines: Sequence[Points]) -> tuple[Points, NDArray[np.bool_]]:
    """Return the centroid of what each outline encloses, and which of them enclose something; a single point is its
    own centre. Of an outline that crosses itself so that its parts cancel, it is the middle of the bounding box."""
    centres, kept = np.zeros((len(outlines), 2)), np.zeros(len(outlines), np.bool_)
    sizes = np.array([len(outline) for outline in outlines], np.int64)
    for number in np.flatnonzero(sizes == 1).tolist():
        centres[number], kept[number] = outlines[number][0], True
    chosen = np.flatnonzero(sizes > 2)  # two points are a line
    if len(chosen):
        rings = [outlines[number] for number in chosen.tolist()]
        centres[chosen], kept[chosen] = _find_centroids(np.concatenate(rings), sizes[chosen])
    return centres, kept


def _find_centroids(points: Points, sizes: NDArray[np.int64]) -> tuple[Points, NDArray[np.bool_]]:
    """Return the centroids of rings that follow one another in `points`, and which have an area."""
    starts = np.cumsum(sizes) - sizes
    low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
    near = points - np.repeat(points[starts], sizes, axis=0)  # so that large coordinates cancel nothing
    follows = np.arange(1, len(points) + 1)
    follows[starts + sizes - 1] = starts
    after = near[follows]
    cross = near[:, 0] * after[:, 1] - after[:, 0] * near[:, 1]
    signed, swept = np.add.reduceat(cross, starts), np.add.reduceat(np.abs(cross), starts)
    moments = np.add.reduceat((near + after) * cross[:, np.newaxis], starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = points[starts] + moments / (3 * signed)[:, np.newaxis]
    is_inside = ((found >= low) & (found <= high)).all(axis=1) & (np.abs(signed) > _CANCELS * swept)
    centres = np.where(is_inside[:, np.newaxis], found, (low + high) / 2)
    return centres, swept > _NO_AREA * np.prod(high - low, axis=1)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Invalid(f"In {where}, a list of coordinates is missing: export the objects again.")
    return cast("list[Any]", value)


def _read_points(points: Any, where: str) -> Points:
    """Return the points. A third number, a height, is left out."""
    try:
        read: NDArray[Any] = np.array(points)
    except ValueError:  # some have more numbers than others
        raise Invalid(f"In {where}, a point is not a pair of numbers.") from None
    if read.dtype.kind not in "iuf" or read.ndim != 2 or read.shape[1] < 2:
        raise Invalid(f"In {where}, a point is not a pair of numbers.")
    found = read[:, :2].astype(np.float64)
    if not (np.abs(found) <= FARTHEST).all():  # NaN is not
        raise Invalid(f"In {where}, a point lies farther away than any slide reaches: state it in pixels.")
    return found
