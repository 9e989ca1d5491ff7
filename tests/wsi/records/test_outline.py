from __future__ import annotations

import json

import pytest

from wsi.records.outline import Frame, Outline, compute_area, compute_bounding_box

RING = ((10.0, 20.0), (110.0, 20.0), (110.0, 120.0), (10.0, 120.0), (10.0, 20.0))
HOLE = ((30.0, 40.0), (50.0, 40.0), (50.0, 60.0), (30.0, 60.0), (30.0, 40.0))


@pytest.mark.parametrize("frame", Frame)
def test_a_region_comes_back_from_json_as_it_was(frame: Frame):
    drawn = Outline(((RING, HOLE),), frame)
    assert Outline.from_json(json.loads(json.dumps(drawn.as_json()))) == drawn


def test_qupath_counts_from_the_corner_of_what_was_scanned():
    drawn = Outline(((RING, HOLE),), Frame.QUPATH)
    assert compute_bounding_box(drawn.on_slide((1000, 500, 9000, 9000))) == (1010, 520, 1110, 620)
    assert compute_bounding_box(drawn.on_slide(None)) == (10, 20, 110, 120)
    assert compute_bounding_box(Outline(((RING,),)).on_slide((1000, 500, 9000, 9000))) == (10, 20, 110, 120)


def test_area_of_a_ring():
    assert compute_area(RING) == 10_000
    far = tuple((x + 1e6, y + 1e6) for x, y in HOLE)
    assert compute_area(far) == compute_area(far[::-1]) == 400
