"""A region that a user has drawn: polygons in place of tissue detection. Needs no numpy: the API reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from wsi.records.slides import Inspection

FARTHEST: Final = 2**24  #: px from the origin: 67 times the longest side known, 250,000 px (libvips#1830)
MAX_VERTICES: Final = 20_000  #: of all rings; a job's options are a row of SQL, and these are about 400 KB of it

Point = tuple[float, float]  #: x, y in level-0 px
Ring = tuple[Point, ...]  #: closed: the last point is the first
Polygon = tuple[Ring, ...]  #: the outer ring, then its holes


class Frame(StrEnum):
    """The origin of coordinates."""

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
        """Return the polygons in the frame of level 0; `bounds` are those of the inspection."""
        if self.frame is Frame.FULL or bounds is None:
            return self.polygons
        left, top = bounds[:2]
        return tuple(
            tuple(tuple((x + left, y + top) for x, y in ring) for ring in polygon) for polygon in self.polygons
        )


def compute_bounding_box(polygons: Sequence[Polygon]) -> tuple[float, float, float, float]:
    """Return left, top, right, bottom of the box around all polygons."""
    points = [point for polygon in polygons for point in polygon[0]]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def describe_missed_region(polygons: Sequence[Polygon], inspection: Inspection) -> str | None:
    """Return the message for a region off the slide, or None for one that overlaps it. Polygons are in the frame of
    level 0."""
    left, top, right, bottom = compute_bounding_box(polygons)
    if left < inspection.width and top < inspection.height and right > 0 and bottom > 0:
        return None
    return (
        f"The region misses the slide of {inspection.width} x {inspection.height} px: state it in pixels of the full "
        "resolution, and say with its frame what they count from."
    )


def compute_area(ring: Ring) -> float:
    """Return the area inside the ring in px², without sign."""
    x, y = ring[0]  # near the ring, so that large coordinates cancel nothing
    return abs(math.fsum((ax - x) * (by - y) - (bx - x) * (ay - y) for (ax, ay), (bx, by) in pairwise(ring))) / 2
