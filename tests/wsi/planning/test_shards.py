from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from wsi.planning.shards import compute_shard_offsets, compute_shard_size


def test_a_shard_is_a_minute_of_work_within_limits():
    assert compute_shard_size(50.0) == 3000
    assert compute_shard_size(1.0) == 1024
    assert compute_shard_size(5000.0) == 8192


def test_an_unmeasured_model_gets_2048_tiles():
    assert compute_shard_size(None) == 2048


def test_the_override_wins_over_rate_and_limits():
    assert compute_shard_size(5000.0, override=7) == 7
    assert compute_shard_size(None, override=100_000) == 100_000


@given(tiles=st.integers(0, 100_000), size=st.integers(1, 10_000))
def test_blocks_are_contiguous_near_equal_and_cover_every_tile_once(tiles, size):
    offsets = compute_shard_offsets(tiles, size)
    sizes = [end - start for start, end in itertools.pairwise(offsets)]
    assert offsets[0] == 0
    assert offsets[-1] == tiles
    assert all(0 < each <= size for each in sizes)
    assert not sizes or max(sizes) - min(sizes) <= 1
    assert len(sizes) == -(-tiles // size)
