"""What is read of a slide is counted where it is asked for."""

from __future__ import annotations

from tests.fakes.ranges import MemoryRangeSource
from wsi.slide.files.source import SlideSource
from wsi.slide.ranges import ByteRange
from wsi.slide.reads import ReadCounter, attach_counter


def source_of(*sizes: int) -> SlideSource:
    return SlideSource(
        files=tuple((f"{size}.dat", MemoryRangeSource(lambda size=size: (bytes(size), "etag"))) for size in sizes)
    )


def test_requests_and_bytes_of_all_files_are_counted_together():
    reads = ReadCounter()
    (_, first), (_, second) = attach_counter(source_of(100, 50), reads).files
    assert first.read(ByteRange(10, 20)) == bytes(10)
    assert [len(data) for data in second.read_many([ByteRange(0, 5), ByteRange(20, 50)])] == [5, 30]
    assert (reads.requests, reads.bytes) == (3, 45)


def test_what_is_not_fetched_does_not_count():
    reads = ReadCounter()
    ((_, only),) = attach_counter(source_of(100), reads).files
    waiting = only.read_many([ByteRange(0, 5), ByteRange(5, 10)])
    assert (reads.requests, reads.bytes) == (0, 0)
    next(waiting)
    assert (reads.requests, reads.bytes) == (1, 5)


def test_a_counted_source_is_the_same_object_to_its_reader():
    plain = source_of(100)
    ((_, seen),) = attach_counter(plain, ReadCounter()).files
    assert (seen.size, seen.etag) == (plain.files[0][1].size, plain.files[0][1].etag)
