from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.plans import inspection, plan, scores_of, shard_results
from wsi.errors import JobFailed
from wsi.inspection.mask import DRAWN
from wsi.planning.drawn_mask import draw_mask, rasterise
from wsi.planning.plan import Plan
from wsi.planning.region_geojson import read_geojson
from wsi.records.jobs import JobOptions
from wsi.records.outline import Frame, Outline, Polygon, Ring
from wsi.results.mask import describe_mask


def inside(ring: Ring, x: float, y: float) -> bool:
    """The even-odd rule, a point at a time: W. R. Franklin's test."""
    odd = False
    for (ax, ay), (bx, by) in pairwise(ring):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            odd = not odd
    return odd


NUMBERS = st.integers(-20, 60).map(float) | st.floats(-20, 60, allow_nan=False, width=32)
RINGS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=9).map(lambda points: (*points, points[0]))
POLYGONS = st.lists(st.lists(RINGS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)


@settings(deadline=None, max_examples=100)
@given(POLYGONS, st.integers(1, 40), st.integers(1, 40), st.sampled_from([1.0, 0.5, 0.31]))
def test_a_pixel_is_in_when_its_centre_is_in_any_polygon(polygons, height, width, scale):
    found = rasterise(polygons, height, width, scale, 1.0)
    for row in range(height):
        for column in range(width):
            x, y = (column + 0.5) / scale, row + 0.5
            if min(_distance(polygon, x, y) for polygon in polygons) > 1e-6:
                expected = any(
                    inside(outer, x, y) and not any(inside(hole, x, y) for hole in holes) for outer, *holes in polygons
                )
                assert found[row, column] == expected


def _distance(polygon: Polygon, x: float, y: float) -> float:
    """Of a point to the nearest edge: on an edge, rounding decides."""
    nearest = math.inf
    for ring in polygon:
        for (ax, ay), (bx, by) in pairwise(ring):
            size = (bx - ax) ** 2 + (by - ay) ** 2
            along = min(1.0, max(0.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / size)) if size else 0.0
            nearest = min(nearest, math.dist((x, y), (ax + along * (bx - ax), ay + along * (by - ay))))
    return nearest


def test_a_knotted_line_gives_the_mask_that_plans_always_had():
    """Of a rasteriser that is gone: tiles of a job that is tried again must be those of its first plan."""
    angles = np.linspace(0, 13 * math.pi, 999)
    points = [(200 + 190 * math.cos(3 * a) * math.sin(a), 200 + 190 * math.sin(2.7 * a)) for a in angles]
    found = rasterise((((*points, points[0]),),), 400, 400, 1.0, 1.0)
    digest = hashlib.sha256(np.packbits(found).tobytes()).hexdigest()
    assert digest == "b6c9537268f4e406263558880d03523ba2942f4e18bc247f664d1a267d98a374"


def square(left: float, top: float, side: float) -> list[list[float]]:
    right, bottom = left + side, top + side
    return [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]


def outline(*rings: list[list[float]], frame: Frame = Frame.FULL) -> Outline:
    return read_geojson({"type": "Polygon", "coordinates": list(rings)}, frame).outline


def test_a_mask_of_a_large_slide_has_at_most_4096_px_a_side_and_the_right_area():
    mask = draw_mask(
        outline(square(10_000, 20_000, 40_000), square(20_000, 30_000, 10_000)), inspection(100_000, 70_000)
    )
    assert max(mask.pixels.shape) <= 4096
    assert mask.source == DRAWN
    assert mask.pixels.mean() * 100_000 * 70_000 == pytest.approx(40_000**2 - 10_000**2, rel=0.002)


def test_the_tiles_are_those_that_the_region_covers_and_detection_has_no_say():
    seen = inspection(2048, 2048)
    options = JobOptions(outline=outline(square(512, 256, 512), square(768, 256, 256)))
    made = plan(seen, mask=np.zeros((9, 9), np.bool_), options=options)
    assert made.tiles.tolist() == [[512, 256], [512, 512], [768, 512]]
    assert Plan.from_bytes(made.to_bytes()).tiles.tolist() == made.tiles.tolist()
    said = describe_mask(made.mask, made.inspection)
    assert (said["source"], said["settings"]["frame"]) == ("geojson", "full")
    assert said["um2"] == pytest.approx((512**2 - 256**2) * 0.25)
    assert len(shard_results(made, scores_of(made))) == 1


def test_the_frame_of_qupath_is_that_of_what_was_scanned_and_results_stay_in_the_full_one():
    seen = replace(inspection(2048, 2048), bounds=(512, 256, 1024, 1024))
    options = JobOptions(outline=outline(square(0, 0, 256), frame=Frame.QUPATH))
    assert plan(seen, options=options).tiles.tolist() == [[512, 256]]


def test_a_region_within_one_cell_of_the_grid_needs_its_least_share():
    drawn_small = JobOptions(outline=outline(square(300, 300, 50)))
    assert not len(plan(inspection(2048, 2048), options=drawn_small).tiles)
    assert len(plan(inspection(2048, 2048), options=replace(drawn_small, min_tissue=0.01)).tiles) == 1


@pytest.mark.parametrize("place", [(3000.0, 0.0), (0.0, 2048.0), (-300.0, 5.0)])
def test_a_region_off_the_slide_fails_the_job(place: tuple[float, float]):
    with pytest.raises(JobFailed, match="misses the slide"):
        plan(inspection(2048, 2048), options=JobOptions(outline=outline(square(*place, 256))))


def test_the_region_is_part_of_the_options_only_where_one_is_drawn():
    drawn_options = JobOptions(outline=outline(square(0, 0, 256)), min_tissue=0.5)
    assert "outline" not in JobOptions().as_json()
    assert JobOptions.from_json(drawn_options.as_json()) == drawn_options
