from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.slide.coalescing import MAX_GAP, MAX_RUN, coalesce
from wsi.slide.ranges import ByteRange

# Layouts as files have them: mostly adjacent tiles, some gaps, some shared or overlapping bytes.
RANGES = st.lists(
    st.tuples(st.integers(0, 5_000), st.integers(1, 400)).map(lambda pair: ByteRange(pair[0], pair[0] + pair[1])),
    max_size=60,
)
WANTED = RANGES.map(lambda ranges: list(enumerate(ranges)))


@settings(deadline=None)
@given(WANTED, st.integers(0, 300), st.integers(1, 2_000))
def test_runs_cover_each_wanted_range_once_and_keep_their_bounds(
    wanted: list[tuple[int, ByteRange]], max_gap: int, max_run: int
):
    runs = coalesce(wanted, max_gap=max_gap, max_run=max_run)
    assert sorted(pair for run in runs for pair in run.tiles) == sorted(wanted)
    for run in runs:
        assert run.byte_range.start == min(part.start for _, part in run.tiles)
        assert run.byte_range.end == max(part.end for _, part in run.tiles)
        assert run.byte_range.size <= max_run or len(run.tiles) == 1
        end = run.tiles[0][1].end
        for _, part in run.tiles[1:]:
            assert part.start - end <= max_gap
            end = max(end, part.end)
    starts = [part.start for run in runs for _, part in run.tiles]
    assert starts == sorted(starts)


@settings(deadline=None)
@given(WANTED, st.integers(0, 300))
def test_neighbouring_runs_are_apart_unless_together_they_were_too_large(
    wanted: list[tuple[int, ByteRange]], max_gap: int
):
    runs = coalesce(wanted, max_gap=max_gap, max_run=1_000)
    for before, after in pairwise(runs):
        gap = after.byte_range.start - before.byte_range.end
        first = after.tiles[0][1]
        together = max(first.end, before.byte_range.end) - before.byte_range.start
        assert gap > max_gap or together > 1_000


def test_the_rule_is_32_kib_gaps_and_2_mib_runs():
    assert (MAX_GAP, MAX_RUN) == (32_768, 2_097_152)
    near, far = ByteRange(0, 10), ByteRange(10 + MAX_GAP, 20 + MAX_GAP)
    assert len(coalesce([(0, near), (1, far)])) == 1
    assert len(coalesce([(0, near), (1, ByteRange(far.start + 1, far.end))])) == 2


@settings(deadline=None)
@given(WANTED)
def test_reading_the_runs_gives_each_tile_its_bytes(wanted: list[tuple[int, ByteRange]]):
    data = bytes(at % 251 for at in range(6_000))
    found: dict[int, bytes] = {}
    for run in coalesce(wanted, max_gap=50, max_run=800):
        read = data[run.byte_range.start : run.byte_range.end]
        for tile, part in run.tiles:
            found[tile] = read[part.start - run.byte_range.start : part.end - run.byte_range.start]
    assert found == {tile: data[part.start : part.end] for tile, part in wanted}
