from __future__ import annotations

import functools
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calls import count_calls
from tests.slides import write_svs
from tests.wsi.slide.sources import CountingSource, remote
from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.slide import tiff
from wsi.slide.layouts.registry import read_index
from wsi.slide.native import NativeReader


def classic(entries: list[bytes], *, following: int = 0, order: str = "<") -> bytes:
    """A classic TIFF of one directory at byte 8."""
    head = {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(order + "I", 8)
    return head + struct.pack(order + "H", len(entries)) + b"".join(entries) + struct.pack(order + "I", following)


def entry(tag: int, kind: int, count: int, value: int) -> bytes:
    return struct.pack("<HHII", tag, kind, count, value)


def rejected(data: bytes) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        read_index(CountingSource(data))
    return caught.value


def test_directories_that_point_back_at_each_other_are_refused():
    error = rejected(classic([entry(256, 4, 1, 10)], following=8))
    assert error.reason is RejectReason.DAMAGED
    assert "point back" in error.sentence


def test_directories_full_of_tags_are_refused_before_they_cost_minutes():
    tags = b"".join(entry(1_000 + number, 1, 1, 0) for number in range(4_000))
    size = 2 + len(tags) + 4
    chain = [struct.pack("<H", 4_000) + tags + struct.pack("<I", 8 + (place + 1) * size) for place in range(999)]
    source = CountingSource(b"II*\0" + struct.pack("<I", 8) + b"".join(chain))
    with pytest.raises(SlideRejected, match=r"more than 100,000 tags") as caught:
        read_index(source)
    assert caught.value.reason is RejectReason.DAMAGED
    assert sum(asked.size for asked in source.asked) < source.size / 10


def test_a_directory_past_the_end_is_a_cut_upload():
    error = rejected(b"II*\0" + struct.pack("<I", 5_000) + bytes(100))
    assert error.reason is RejectReason.TRUNCATED
    assert error.sentence == "The file ends before its directory: the upload or copy was cut short."


def test_a_second_directory_past_the_end_is_a_cut_upload():
    assert rejected(classic([entry(256, 4, 1, 10)], following=9_999)).reason is RejectReason.TRUNCATED


def test_an_absurd_number_of_tags_is_refused_before_it_is_believed():
    big = b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, 2**60)
    assert "claims 1,152,921,504,606,846,976 tags" in rejected(big).sentence


@pytest.mark.parametrize(("tag", "kind", "count"), [(324, 16, 2**31), (270, 2, 2**32 - 1)])
def test_a_value_that_claims_gigabytes_is_refused_without_reading_it(tag: int, kind: int, count: int):
    source = CountingSource(classic([entry(tag, kind, count, 8)]))
    directory = tiff.parse(source).directories[0]
    source.asked.clear()
    with pytest.raises(SlideRejected, match="claims"):
        directory.read_integers(tag) if tag == 324 else directory.read_text(tag)
    assert source.asked == []


def test_a_size_written_as_a_fraction_is_refused():
    directory = tiff.parse(CountingSource(classic([entry(256, 5, 1, 8)]))).directories[0]
    with pytest.raises(SlideRejected, match="whole number"):
        directory.read_integer(256, 0)


def test_fields_of_unknown_type_are_skipped():
    directory = tiff.parse(CountingSource(classic([entry(256, 99, 1, 8), entry(257, 4, 1, 5)]))).directories[0]
    assert 256 not in directory
    assert directory.read_integer(257, 0) == 5


@pytest.mark.parametrize("order", ["<", ">"])
def test_small_values_lie_inside_the_entry_in_both_byte_orders(order: str):
    raw = struct.pack(order + "HHIHH", 258, 3, 2, 8, 9)
    directory = tiff.parse(CountingSource(classic([raw], order=order))).directories[0]
    values = directory.read_integers(258)
    assert values is not None
    assert values.tolist() == [8, 9]


def test_a_resolution_over_zero_counts_as_absent():
    data = classic([entry(282, 5, 1, 26)]) + struct.pack("<II", 3, 0)
    assert tiff.parse(CountingSource(data)).directories[0].read_ratio(282) is None


def tiled(width: int, height: int, *, tiles: int = 1, tile: int = 16) -> bytes:
    """One page whose `tiles` all lie at byte 8 and take 8 bytes."""
    entries = [
        *(entry(tag, 4, 1, value) for tag, value in ((256, width), (257, height), (258, 8), (259, 7), (262, 2))),
        *(entry(tag, 4, 1, value) for tag, value in ((277, 3), (322, tile), (323, tile))),
        *(entry(tag, 4, tiles, 200) for tag in (324, 325)),
    ]
    return classic(entries) + struct.pack("<I", 8) * tiles * 2


def test_the_tile_list_must_match_the_size():
    error = rejected(tiled(64, 64, tiles=4) + bytes(64))
    assert error.reason is RejectReason.DAMAGED
    assert "lists 4 tiles where its size needs 16" in error.sentence


def test_more_tiles_than_the_file_has_bytes_for_are_refused_before_anything_is_read():
    error = rejected(tiled(4_000_000, 4_000_000))
    assert error.reason is RejectReason.CLAIMS_TOO_MUCH
    assert "4,000,000 x 4,000,000 px, whose 62,500,000,000 tiles do not fit into its" in error.sentence


def test_a_tile_of_gigabytes_is_refused():
    error = rejected(tiled(40_000, 40_000, tile=40_000))
    assert error.reason is RejectReason.CLAIMS_TOO_MUCH
    assert "tiles of 40,000 x 40,000 px" in error.sentence


def test_a_million_tiles_are_indexed_in_a_moment():
    source = CountingSource(tiled(256_000, 256_000, tile=256, tiles=1_000_000) + bytes(200))
    with count_calls() as count:
        index = read_index(source)
    assert count.calls < 10_000
    assert len(index.levels[0].pieces.offsets) == 1_000_000


@functools.cache
def small_svs() -> bytes:
    with TemporaryDirectory() as folder:
        path = write_svs(Path(folder) / "a.svs", width=200, height=150, tile=64, levels=(1, 2), quality=40)
        return path.read_bytes()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_file_is_rejected_or_read_and_costs_little_memory(data: st.DataObject):
    hurt = bytearray(small_svs())
    starts = [at for at in range(len(hurt) - 1) if hurt[at : at + 2] == b"\xff\xd8"]
    structure = st.integers(0, 400) | st.integers(0, len(hurt) - 1).filter(lambda at: at not in starts)
    for at in data.draw(st.lists(structure, min_size=1, max_size=6)):
        hurt[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del hurt[data.draw(st.integers(8, len(hurt))) :]
    tracemalloc.start()
    with suppress(SlideRejected):
        source = CountingSource(bytes(hurt))
        reader = NativeReader(remote(source), read_index(source))
        for tile in reader.read_tiles(0, range(min(4, len(reader._index.levels[0].pieces.offsets)))):
            with suppress(TileUnreadable):
                assert reader.decode(tile).dtype == "u1"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000
