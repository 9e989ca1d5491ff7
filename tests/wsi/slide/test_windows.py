"""How a file's structure is read: its ends together, what lies apart together, nothing twice, nothing past the end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.slide.sources import CountingSource
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.ranges import ByteRange
from wsi.slide.windows import (
    KEPT,
    LEAST,
    MAX_PREFETCH,
    SMALL,
    CachedEndsSource,
    Windows,
    choose_end_size,
    choose_window,
)

SIZE = 1_000_000
DATA = bytes(at * 7 % 251 for at in range(SIZE))
WINDOW, ENDS = choose_window(SIZE), choose_end_size(SIZE)


def test_neighbouring_reads_cost_one_request():
    source = CountingSource(DATA)
    windows = Windows(source)
    for offset in (500_000, 500_100, 500_000 + WINDOW - 8):
        assert windows.read(offset, 8) == DATA[offset : offset + 8]
    assert source.asked == [ByteRange(500_000, 500_000 + WINDOW)]


def test_a_long_array_is_read_alone_and_not_kept():
    source = CountingSource(DATA)
    windows = Windows(source)
    for _ in range(2):
        assert windows.read(100, KEPT + 1) == DATA[100 : 101 + KEPT]
    assert [part.size for part in source.asked] == [KEPT + 1] * 2


def test_of_what_is_partly_held_only_the_rest_is_asked_for():
    source = CountingSource(DATA)
    windows = Windows(source)
    windows.read(100_000, 8)
    windows.read(100_000 + 2 * WINDOW, 8)
    windows.read(300_000, 8)
    source.asked.clear()
    assert windows.read(99_000, 2 * WINDOW) == DATA[99_000 : 99_000 + 2 * WINDOW]
    assert source.asked == [ByteRange(99_000, 99_000 + 2 * WINDOW)], "the middle alone is held"
    source.asked.clear()
    assert windows.read(300_000, 100_000) == DATA[300_000:400_000]
    assert source.asked == [ByteRange(300_000 + WINDOW, 400_000)]
    source.asked.clear()
    windows.prefetch([ByteRange(300_000, 310_000)])
    assert source.asked == [ByteRange(300_000 + WINDOW, 310_000)]


@pytest.mark.parametrize(("size", "expected"), [(1, LEAST), (252_000_000, LEAST), (1 << 30, 8192), (1 << 40, 32_768)])
def test_a_window_grows_with_the_file_as_the_lists_of_its_small_levels_do(size: int, expected: int):
    assert choose_window(size) == expected


def test_what_is_prefetched_is_not_asked_for_again():
    source = CountingSource(DATA)
    windows = Windows(source)
    parts = [ByteRange(200_000, 300_000), ByteRange(310_000, 311_000), ByteRange(900_000, 900_100)]
    windows.prefetch(parts)
    assert source.asked == [ByteRange(200_000, 311_000), ByteRange(900_000, 900_100)]
    for part in parts:
        assert windows.read(part.start, part.size) == DATA[part.start : part.end]
    windows.prefetch(parts)
    assert len(source.asked) == 2


def test_a_prefetch_past_the_end_is_left_to_the_read_that_says_so():
    source = CountingSource(DATA)
    windows = Windows(source)
    windows.prefetch([ByteRange(SIZE - 10, SIZE + 10), ByteRange(-5, 3)])
    assert source.asked == []
    for offset, size in ((SIZE - 10, 20), (-5, 8), (SIZE, 1), (0, -1)):
        with pytest.raises(SlideRejected) as caught:
            windows.read(offset, size)
        assert caught.value.reason is RejectReason.TRUNCATED


def test_a_prefetch_that_claims_too_much_is_left_alone():
    class Large(CountingSource):
        @property
        def size(self) -> int:
            return 1 << 40

    source = Large(b"")
    Windows(source).prefetch([ByteRange(0, MAX_PREFETCH), ByteRange(1 << 30, (1 << 30) + 1)])
    assert source.asked == []


@pytest.mark.parametrize("size", [1, ENDS, ENDS + 1, SMALL, SMALL + 1, SIZE])
def test_the_ends_of_a_file_are_asked_for_together_and_each_byte_once(size: int):
    source = CountingSource(DATA[:size])
    held = CachedEndsSource(source)
    assert len(source.asked) == (1 if size <= SMALL else 2)
    assert sum(part.size for part in source.asked) == (size if size <= SMALL else 2 * ENDS)
    asked = list(source.asked)
    assert held.read(ByteRange(0, min(ENDS, size))) == DATA[: min(ENDS, size)]
    assert held.read(ByteRange(max(0, size - ENDS), size)) == DATA[max(0, size - ENDS) : size]
    assert source.asked == asked


def test_of_many_ranges_those_at_the_ends_are_not_asked_for_again():
    source = CountingSource(DATA)
    held = CachedEndsSource(source)
    source.asked.clear()
    parts = [ByteRange(5, 100), ByteRange(500_000, 500_100), ByteRange(SIZE - 9, SIZE), ByteRange(ENDS - 1, ENDS + 1)]
    assert list(held.read_many(parts)) == [DATA[part.start : part.end] for part in parts]
    assert source.asked == [parts[1], ByteRange(ENDS, ENDS + 1)]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 100_000)), max_size=12), st.booleans())
def test_windows_over_held_ends_read_what_the_file_holds(reads: list[tuple[int, int]], prefetch: bool):
    windows = Windows(CachedEndsSource(CountingSource(DATA)))
    parts = [ByteRange(offset, min(offset + size, SIZE)) for offset, size in reads]
    if prefetch:
        windows.prefetch(parts)
    for part in parts:
        assert windows.read(part.start, part.size) == DATA[part.start : part.end]
