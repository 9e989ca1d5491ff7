"""Windows of models that find objects: whole px of the slide for whole px of the network, whatever the scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.plans import inspection, plan
from wsi.errors import Invalid, JobFailed
from wsi.inspection.mask import SlideMask
from wsi.inspection.stored_mask import StoredMask
from wsi.models.builtin import NUCLEI
from wsi.planning.dry_run import estimate
from wsi.planning.estimate import check_plannable, estimate_tiles
from wsi.planning.grid import compute_level_boxes
from wsi.planning.window_sides import choose_window_sides
from wsi.planning.windows import make_lattice, make_window_grid
from wsi.records.jobs import JobOptions

KEPT = 1024 - 2 * NUCLEI.objects.halo  # pyright: ignore[reportOptionalMemberAccess]


@settings(max_examples=60, deadline=None)
@given(mpp=st.floats(0.1, 0.5), stretched=st.floats(0.95, 1.05))
def test_windows_begin_at_whole_px_of_the_level_and_of_the_network(mpp, stretched):
    seen = replace(inspection(30_000, 20_000, mpp=mpp), mpp_y=mpp * stretched)
    made = plan(seen, card=NUCLEI, options=JobOptions(allow_upsampling=True))
    grid, windows, lattice = made.grid, make_window_grid(made), make_lattice(made)
    boxes = compute_level_boxes(grid, made.tiles)
    for tile in (0, len(made.tiles) // 2, len(made.tiles) - 1):
        x, y = made.tiles[tile].tolist()
        window = windows.place_window(x // grid.side, y // grid.side_y)
        left, top = boxes[tile].tolist()
        assert left == pytest.approx(window.left * lattice.step_x / grid.level_downsample, abs=1e-6)
        assert top == pytest.approx(window.top * lattice.step_y / grid.level_downsample, abs=1e-6)
        assert window.left % 8 == window.top % 8 == 0
    assert windows.side_x == windows.side_y == 1024
    assert grid.level_side == pytest.approx(1024 * lattice.step_x / grid.level_downsample)
    assert windows.sight >= NUCLEI.objects.largest  # pyright: ignore[reportOptionalMemberAccess]
    found = [lattice.step_x * made.mpp, lattice.step_y * made.mpp_y]
    assert max(abs(each / NUCLEI.mpp - 1) for each in found) < 0.035


@pytest.mark.parametrize(("mpp", "level_px"), [(0.5, 1024), (0.25, 2048), (0.2465, 2048), (0.4937, 1024), (0.4, 1280)])
def test_common_scales_are_read_as_they_are(mpp, level_px):
    assert plan(inspection(8000, 6000, mpp=mpp), card=NUCLEI).grid.level_side == level_px


def test_a_level_that_is_no_whole_part_of_the_slide_is_not_read():
    seen = inspection(8000, 6000, mpp=0.25, downsamples=(1, 2))
    assert choose_window_sides(seen, NUCLEI, (0.25, 0.25)).level == 1
    odd = replace(seen, levels=(seen.levels[0], replace(seen.levels[1], width=3990, height=2992, downsample=2.005)))
    assert choose_window_sides(odd, NUCLEI, (0.25, 0.25)).level == 0


def test_a_plan_far_from_the_cards_scale_says_so():
    made = plan(inspection(8000, 6000, mpp=0.55), card=NUCLEI, options=JobOptions(allow_upsampling=True))
    assert any("in place of 0.5" in warning for warning in made.warnings)
    assert not any("in place of" in warning for warning in plan(inspection(8000, 6000, mpp=0.25), card=NUCLEI).warnings)


@pytest.mark.parametrize("mpp", [0.5, 0.25, 0.35])
def test_a_dry_run_counts_the_windows_that_are_planned(mpp):
    rng = np.random.default_rng(3)
    mask = SlideMask(rng.random((64, 64)) < 0.02)
    seen = inspection(20_000, 16_000, mpp=mpp)
    made = plan(seen, card=NUCLEI, mask=mask.pixels, options=JobOptions(min_tissue=0.5))
    counted = estimate(seen, NUCLEI, JobOptions(min_tissue=0.5), 1.0, stored=StoredMask(seen, mask))
    assert counted.tiles == len(made.tiles) > 0
    assert counted.shards == len(made.shard_sizes)


def test_windows_that_keep_nothing_are_refused_with_a_sentence_before_a_job_and_by_its_plan():
    small = replace(NUCLEI, tile_px=256, input_px=256)
    seen = inspection(8000, 6000, mpp=0.5)
    with pytest.raises(Invalid, match="keep nothing"):
        check_plannable(seen, small, JobOptions())
    with pytest.raises(JobFailed, match="keep nothing"):
        plan(seen, card=small)


def test_tiles_are_estimated_by_what_windows_keep():
    seen = replace(inspection(7520, 7520, mpp=0.5), tissue_fraction=1.0)
    assert estimate_tiles(seen, NUCLEI, JobOptions()) == pytest.approx((7520 / KEPT) ** 2, abs=1)
