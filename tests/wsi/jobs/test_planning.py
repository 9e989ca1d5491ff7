from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.plans import inspection, plan
from wsi.errors import JobFailed, NewerSchema, RejectReason, SlideRejected
from wsi.jobs.planning import BATCH_BYTES
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import PLAN_SCHEMA, Plan
from wsi.records.jobs import JobOptions

masks = st.builds(
    lambda rows, columns, seed: np.random.default_rng(seed).random((rows, columns)) < 0.5,
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(0, 1000),
)


@settings(deadline=None)
@given(mask=masks, shard_tiles=st.integers(1, 200))
def test_the_union_of_shards_is_the_grid_and_no_tile_is_in_two(mask, shard_tiles):
    made = plan(inspection(6000, 4000), mask=mask, shard_tiles=shard_tiles)
    numbers = [tile for k in range(len(made.shard_sizes)) for tile in made.shard_tiles(k).tolist()]
    assert sorted(numbers) == list(range(len(made.tiles)))
    assert all(0 < size <= shard_tiles for size in made.shard_sizes)


@settings(deadline=None)
@given(mask=masks, one=st.integers(1, 200), other=st.integers(1, 200))
def test_digest_and_tile_numbers_do_not_depend_on_the_shard_size(mask, one, other):
    first = plan(inspection(6000, 4000), mask=mask, shard_tiles=one)
    second = plan(inspection(6000, 4000), mask=mask, shard_tiles=other)
    assert first.digest == second.digest
    assert np.array_equal(first.tiles, second.tiles)


@settings(deadline=None)
@given(mask=masks, shard_tiles=st.integers(1, 200))
def test_a_plan_survives_its_bytes_and_is_the_same_bytes_again(mask, shard_tiles):
    made = plan(inspection(6000, 4000), mask=mask, shard_tiles=shard_tiles)
    data = made.to_bytes()
    read = Plan.from_bytes(data)
    assert read.to_bytes() == data == plan(inspection(6000, 4000), mask=mask, shard_tiles=shard_tiles).to_bytes()
    assert read.digest == made.digest
    assert read.card == STAIN_DENSITY
    assert read.index == b"index"


def with_unknown_fields(value):
    """As a later version would write it: one field more in every object."""
    if isinstance(value, dict):
        return {**{name: with_unknown_fields(item) for name, item in value.items()}, "of_a_later_version": 1}
    return [with_unknown_fields(item) for item in value] if isinstance(value, list) else value


def test_a_plan_with_fields_of_a_later_version_is_read_all_the_same():
    data = plan(inspection(downsamples=(1, 2))).to_bytes()
    later = gzip.compress(json.dumps(with_unknown_fields(json.loads(gzip.decompress(data)))).encode())
    assert Plan.from_bytes(later).to_bytes() == data


def test_a_plan_of_a_later_schema_is_left_to_a_later_worker():
    value = json.loads(gzip.decompress(plan().to_bytes()))
    with pytest.raises(NewerSchema, match="newer"):
        Plan.from_bytes(gzip.compress(json.dumps({**value, "schema": PLAN_SCHEMA + 1}).encode()))


NEW_IN_SCHEMA_2 = {"side_y", "stride_y", "level_side_y", "level_downsample_y", "reduction"}


def test_a_plan_that_an_older_worker_can_compute_is_left_to_it_and_one_of_an_older_planner_is_square():
    made = plan(inspection(mpp=0.25, downsamples=(1, 2)))
    value = json.loads(gzip.decompress(made.to_bytes()))
    assert value["schema"] == 1
    older = {name: item for name, item in value.items() if name != "mpp_y"}
    older["grid"] = {name: item for name, item in value["grid"].items() if name not in NEW_IN_SCHEMA_2}
    read = Plan.from_bytes(gzip.compress(json.dumps(older).encode()))
    assert (read.grid, read.mpp_y, read.digest) == (made.grid, 0.25, made.digest)


STRETCHED = replace(inspection(8000, 6000, mpp=0.25, downsamples=(1, 2, 4)), mpp_y=0.3)
FAST = inspection(8000, 6000, mpp=0.25)


@pytest.mark.parametrize(
    ("seen", "options"), [(STRETCHED, JobOptions()), (FAST, JobOptions(fast=True))], ids=["rectangular", "fast"]
)
def test_what_an_older_worker_would_overlook_is_of_a_schema_that_it_refuses(seen, options):
    made = plan(seen, options=options)
    value = json.loads(gzip.decompress(made.to_bytes()))
    assert value["schema"] == 2 < PLAN_SCHEMA
    read = Plan.from_bytes(made.to_bytes())
    assert (read.grid, read.mpp_y, read.digest) == (made.grid, made.mpp_y, made.digest)
    assert made.digest != plan(replace(seen, mpp_y=0.25)).digest


def test_boxes_of_a_stretched_slide_are_square_in_microns_on_the_level_too():
    made = plan(STRETCHED)
    grid = made.grid
    assert (made.mpp, made.mpp_y) == (0.25, 0.3)
    assert (grid.side, grid.side_y, grid.columns, grid.rows) == (512, 427, 16, 15)
    assert (grid.level, grid.level_side, grid.level_side_y) == (0, 512, 427)
    finer = plan(STRETCHED, card=replace(STAIN_DENSITY, mpp=0.6)).grid
    assert (finer.level, finer.level_side, finer.level_side_y) == (1, 307, 256)
    assert not made.warnings[1:]


def test_a_slide_that_is_coarse_along_one_axis_is_told_by_that_axis():
    seen = replace(inspection(), mpp_x=0.4, mpp_y=0.6)
    with pytest.raises(SlideRejected) as rejected:
        plan(seen)
    assert rejected.value.reason is RejectReason.SLIDE_TOO_COARSE
    made = plan(seen, options=JobOptions(allow_upsampling=True))
    assert "has 0.6 µm per pixel and was enlarged" in made.warnings[-1]


def test_fast_reads_the_level_in_the_pixels_that_the_model_needs_and_is_off_by_default():
    assert plan(FAST).grid.reduction == 1
    made = plan(FAST, options=JobOptions(fast=True)).grid
    assert (made.side, made.level, made.reduction) == (512, 0, 2)
    assert (made.level_side, made.level_downsample) == (256, 2.0)


def test_fast_that_can_not_help_says_so_and_changes_nothing_else():
    made, fast = plan(inspection()), plan(inspection(), options=JobOptions(fast=True))
    assert fast.digest == made.digest
    assert "`fast` changed nothing" in fast.warnings[-1]


def test_a_slide_without_tissue_gives_a_plan_without_tiles():
    made = plan(mask=np.zeros((10, 10), dtype=np.bool_))
    assert made.tiles.shape == (0, 2)
    assert made.shard_sizes == ()
    assert Plan.from_bytes(made.to_bytes()).tiles.shape == (0, 2)


def test_what_changes_a_number_changes_the_digest():
    digests = {
        plan(inspection()).digest,
        plan(inspection(mpp=0.499)).digest,
        plan(inspection(), options=JobOptions(region=(0, 0, 300, 300))).digest,
        plan(inspection(mpp=0.25, downsamples=(1, 2))).digest,
        plan(inspection(mpp=0.25)).digest,
        plan(inspection(), slide_digest="0f" * 32 + "-1").digest,
        plan(inspection(), card=replace(STAIN_DENSITY, digest="f" * 64)).digest,
    }
    assert len(digests) == 7


def test_a_coarse_slide_is_refused_and_with_leave_planned_with_a_warning():
    with pytest.raises(SlideRejected) as rejected:
        plan(inspection(mpp=1.0))
    assert rejected.value.reason is RejectReason.SLIDE_TOO_COARSE
    made = plan(inspection(mpp=1.0), options=JobOptions(allow_upsampling=True))
    assert (made.grid.side, made.grid.level) == (128, 0)
    assert "enlarged" in made.warnings[-1]


@pytest.mark.parametrize(("mpp", "batch"), [(0.5, 32), (0.25, 32), (0.1, 32), (0.05, 10)])
def test_a_batch_holds_as_many_boxes_as_memory_has_room_for(mpp, batch):
    made = plan(inspection(20_000, 20_000, mpp=mpp))
    assert made.numerics.batch == batch
    assert batch == 1 or batch * made.grid.level_side**2 * 3 <= BATCH_BYTES


def test_a_box_larger_than_memory_is_refused_with_the_way_out():
    card = replace(STAIN_DENSITY, mpp=9.0)
    with pytest.raises(JobFailed, match="pyramid"):
        plan(inspection(20_000, 20_000, mpp=0.2), card=card)
    assert plan(inspection(20_000, 20_000, mpp=0.2, downsamples=(1, 4, 16)), card=card).numerics.batch == 32


def test_the_warnings_of_the_reader_reach_the_plan():
    assert plan(inspection()).warnings == inspection().warnings
