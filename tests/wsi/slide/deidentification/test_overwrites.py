"""Writing over bytes of a file where they lie, without the file being copied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.ranges import MemoryRangeSource
from wsi.slide.deidentification.overwrites import (
    Overwrite,
    OverwrittenSource,
    compute_gaps,
    merge_ranges,
    sort_overwrites,
)
from wsi.slide.ranges import ByteRange


@st.composite
def overwritten(draw: st.DrawFn) -> tuple[bytes, list[Overwrite]]:
    data = draw(st.binary(min_size=1, max_size=200))
    edges = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12, unique=True)))
    places = [ByteRange(*pair) for pair in zip(edges[::2], edges[1::2], strict=False)]
    return data, [
        Overwrite(place, draw(st.none() | st.binary(min_size=place.size, max_size=place.size))) for place in places
    ]


@given(overwritten(), st.data())
def test_any_range_reads_as_the_file_will_be(case, data):
    before, overwrites = case
    after = bytearray(before)
    for one in overwrites:
        after[one.place.start : one.place.end] = one.slice(one.place.start, one.place.end)
    source = OverwrittenSource(MemoryRangeSource(lambda: (before, "etag")), sort_overwrites(overwrites))
    start = data.draw(st.integers(0, len(before)))
    end = data.draw(st.integers(start, len(before)))
    assert source.read(ByteRange(start, end)) == bytes(after[start:end])
    assert [bytes(each) for each in source.read_many([ByteRange(start, end)])] == [bytes(after[start:end])]
    if source.find_unchanged(ByteRange(start, end)) == ByteRange(start, end):
        assert after[start:end] == before[start:end]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), min_size=1, max_size=30))
def test_ranges_and_gaps_make_the_whole_file(ranges):
    size = 400
    covered = {byte for start, length in ranges for byte in range(start, start + length)}
    starts = np.array([start for start, _ in ranges], np.int64)
    ends = starts + np.array([length for _, length in ranges], np.int64)
    left = [byte for gap in compute_gaps(*merge_ranges(starts, ends), size) for byte in range(gap.start, gap.end)]
    assert sorted(covered) == sorted(set(range(size)) - set(left))
    assert len(left) == len(set(left))


def test_two_overwrites_of_the_same_bytes_contradict_each_other():
    with pytest.raises(ValueError, match="two overwrites"):
        sort_overwrites([Overwrite(ByteRange(0, 4)), Overwrite(ByteRange(2, 6))])
