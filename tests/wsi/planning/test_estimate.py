from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.plans import inspection, plan
from wsi.errors import Invalid, SlideRejected
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.dry_run import estimate
from wsi.planning.region_geojson import FARTHEST, read_geojson
from wsi.records.jobs import JobOptions
from wsi.records.outline import Frame, Outline


def test_a_round_piece_of_tissue_is_estimated_within_a_tenth():
    y, x = np.mgrid[:500, :500]
    mask = (x - 250) ** 2 + (y - 240) ** 2 < 150**2
    seen = inspection(20_000, 20_000, tissue_fraction=float(mask.mean()))
    guess = estimate(seen, STAIN_DENSITY, JobOptions(), 1.0, stored=None)
    assert guess.tiles == pytest.approx(len(plan(seen, mask=mask).tiles), rel=0.1)


def test_a_slide_full_of_tissue_is_its_whole_grid():
    seen = inspection(20_000, 10_000)
    assert estimate(seen, STAIN_DENSITY, JobOptions(), 1.0, stored=None).tiles == len(plan(seen).tiles)


def test_without_tissue_it_costs_nothing():
    guess = estimate(inspection(tissue_fraction=0.0), STAIN_DENSITY, JobOptions(), 1.0, stored=None)
    assert (guess.tiles, guess.shards, guess.seconds, guess.dollars) == (0, 0, 0.0, 0.0)


def test_time_and_dollars_follow_the_rate_and_a_stated_mpp_wins():
    seen = inspection(25_600, 25_600)
    card = replace(STAIN_DENSITY, tiles_per_second=100.0)
    guess = estimate(seen, card, JobOptions(), 3.6, stored=None)
    assert (guess.tiles, guess.shards, guess.seconds) == (10_000, 2, 100.0)
    assert guess.dollars == pytest.approx(0.1)
    assert estimate(seen, card, JobOptions(mpp=0.25), 3.6, stored=None).tiles == 2500


def test_a_region_has_its_share():
    guess = estimate(inspection(25_600, 25_600), STAIN_DENSITY, JobOptions(region=(0, 0, 2560, 2560)), 1.0, stored=None)
    assert guess.tiles == 100


HATCHING = [(100.0 * step, 90_000.0 * (step % 2)) for step in range(400)]


def test_a_drawn_region_is_counted_as_it_is_planned_and_needs_no_stored_mask():
    seen = inspection(100_000, 90_000)
    options = JobOptions(outline=Outline((((*HATCHING[:40], HATCHING[0]),),)), min_tissue=0.3)
    counted = estimate(seen, STAIN_DENSITY, options, 1.0, stored=None)
    assert (counted.tiles, counted.exact) == (len(plan(seen, options=options).tiles), True)


def test_a_region_of_more_edges_than_a_request_has_time_for_is_drawn_coarser(monkeypatch):
    monkeypatch.setattr("wsi.planning.dry_run.MAX_CROSSINGS", 2**19)  # 400 lines of 3,686 rows are 1.5 million
    seen = inspection(100_000, 90_000)
    options = JobOptions(outline=Outline((((*HATCHING, HATCHING[0]),),)), min_tissue=0.3)
    counted = estimate(seen, STAIN_DENSITY, options, 1.0, stored=None)
    assert counted.exact is False
    assert counted.tiles == pytest.approx(len(plan(seen, options=options).tiles), rel=0.25)  # thin and close lines


def test_more_tiles_than_planning_takes_are_no_question():
    with pytest.raises(Invalid, match="more than 16,777,216"):
        estimate(inspection(2**21, 2**21), STAIN_DENSITY, JobOptions(), 1.0, stored=None)


def test_a_region_off_the_slide_is_no_question():
    for region in ((9000, 0, 10, 10), (0, 1500, 10, 10), (-20, 0, 20, 10)):
        with pytest.raises(Invalid, match="2000 x 1500 px"):
            estimate(inspection(), STAIN_DENSITY, JobOptions(region=region), 1.0, stored=None)


def test_a_slide_too_coarse_has_no_estimate():
    with pytest.raises(SlideRejected):
        estimate(inspection(mpp=1.0), STAIN_DENSITY, JobOptions(), 1.0, stored=None)
    assert estimate(inspection(mpp=1.0), STAIN_DENSITY, JobOptions(allow_upsampling=True), 1.0, stored=None).tiles


SIDE = st.integers(1, 2**19)
PLACE = st.floats(-FARTHEST, FARTHEST) | st.sampled_from([-FARTHEST, FARTHEST, 0.0, 5e-324, 0.5])
RING = st.lists(st.tuples(PLACE, PLACE).map(list), min_size=3, max_size=12)


@settings(deadline=None, max_examples=20)
@given(SIDE, SIDE, st.lists(RING, min_size=1, max_size=3), st.integers(1, 1_000), st.sampled_from(Frame))
def test_region_of_any_coordinates_is_counted_or_refused_in_bounded_time(width, height, rings, again, frame):
    rings = [ring * (again if number == 0 else 1) for number, ring in enumerate(rings)]
    seen = replace(inspection(width, height), bounds=(width // 3, height // 3, width, height))
    began = time.process_time()
    with suppress(Invalid):
        outline = read_geojson({"type": "Polygon", "coordinates": rings}, frame).outline
        assert 0 <= estimate(seen, STAIN_DENSITY, JobOptions(outline=outline), 1.0, stored=None).tiles <= 2**24
    assert time.process_time() - began < 15  # about 1 s where nothing else runs; minutes without a bound


@pytest.mark.parametrize("reach", [1, 100, FARTHEST / 100_000])
def test_hatching_as_dense_as_a_region_may_be_is_counted_in_bounded_time(reach: float):
    zigzag = [(5.0 * step, 100_000 * reach * (-1) ** step) for step in range(20_000)]
    began = time.process_time()
    options = JobOptions(outline=Outline((((*zigzag, zigzag[0]),),)))
    counted = estimate(inspection(100_000, 100_000), STAIN_DENSITY, options, 1.0, stored=None)
    assert time.process_time() - began < 15  # about 0.6 s where nothing else runs; minutes without a bound
    assert counted.exact is False
