"""A file whose bytes are replaced by more, fewer or other bytes, without being copied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.ranges import MemoryRangeSource
from wsi.slide.deidentification.edits import Edit, EditedSource
from wsi.slide.ranges import ByteRange


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, list[Edit]]:
    data = draw(st.binary(min_size=1, max_size=200))
    edges = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    places = [ByteRange(*pair) for pair in zip(edges[::2], edges[1::2], strict=False)]
    return data, [Edit(place, draw(st.none() | st.binary(max_size=20))) for place in places]


@given(edited(), st.data())
def test_any_range_reads_as_the_file_will_be(case: tuple[bytes, list[Edit]], data: st.DataObject) -> None:
    before, edits = case
    after, at = b"", 0
    for edit in edits:
        new = bytes(edit.place.size) if edit.data is None else edit.data
        after += before[at : edit.place.start] + new
        at = edit.place.end
    after += before[at:]
    source = EditedSource(MemoryRangeSource(lambda: (before, "etag")), edits)
    assert source.size == len(after)
    start = data.draw(st.integers(0, len(after)))
    end = data.draw(st.integers(start, len(after)))
    assert source.read(ByteRange(start, end)) == after[start:end]
    assert [bytes(each) for each in source.read_many([ByteRange(start, end)])] == [after[start:end]]
    origin = source.find_unchanged(ByteRange(start, end))
    if origin is not None:
        assert before[origin.start : origin.end] == after[start:end]


def test_runs_between_edits_are_found_where_they_were() -> None:
    source = EditedSource(MemoryRangeSource(lambda: (b"0123456789", "etag")), [Edit(ByteRange(2, 4), b"abcde")])
    assert source.read(ByteRange(0, source.size)) == b"01abcde456789"
    assert source.find_unchanged(ByteRange(7, 13)) == ByteRange(4, 10)
    assert source.find_unchanged(ByteRange(6, 13)) is None
    assert source.find_unchanged(ByteRange(0, 2)) == ByteRange(0, 2)


def test_two_edits_of_the_same_bytes_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="two edits"):
        EditedSource(
            MemoryRangeSource(lambda: (bytes(9), "etag")), [Edit(ByteRange(0, 4), b""), Edit(ByteRange(2, 6), b"")]
        )
