"""The copy that OpenSlide reads: whole, bounded, seen while it grows, and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.slides import write_svs
from tests.slides.scn import REGION, write_scn
from tests.wsi.slide.sources import CountingSource, remote
from wsi.errors import RejectReason, SlideRejected, SourceChanged, SourceUnavailable
from wsi.slide.files.scratch import PIECE, ScratchSpace, copy_to_scratch, remove_copy, throttle_to_tenths
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange


class Endless(CountingSource):
    """Claims more bytes than any disk has."""

    @property
    def size(self) -> int:
        return 1 << 60


class Replaced(CountingSource):
    """Is written over while it is copied."""

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[bytes]:
        for at, data in enumerate(super().read_many(ranges)):
            if at:
                raise SourceChanged("The slide was replaced while it was read; upload or register it again.")
            yield data


def test_every_byte_of_every_file_is_copied_by_ranges(tmp_path: Path):
    first, second = CountingSource(bytes(range(256)) * 20_000), CountingSource(b"sidecar")
    source = SlideSource(files=(("a.mrxs", first), ("a/Index.dat", second)))
    seen: list[tuple[int, int]] = []
    scratch = ScratchSpace(tmp_path, on_copy=lambda done, total: seen.append((done, total)))
    folder, path = copy_to_scratch(source, scratch)
    assert path == folder / "a.mrxs"
    assert path.read_bytes() == bytes(range(256)) * 20_000
    assert (folder / "a/Index.dat").read_bytes() == b"sidecar"
    assert max(part.size for part in first.asked) == PIECE
    assert len(seen) == len(first.asked) + 1
    assert seen == sorted(seen)
    assert seen[-1] == (source.size, source.size)


def test_a_disk_without_room_is_told_before_the_first_byte(tmp_path: Path):
    source = Endless(b"")
    with pytest.raises(SourceUnavailable, match="make room there"):
        copy_to_scratch(remote(source), ScratchSpace(tmp_path, 1 << 61))
    assert source.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_slide_above_the_limit_is_told_before_the_first_byte(tmp_path: Path):
    source = Endless(b"")
    with pytest.raises(SlideRejected, match="up to 8 GiB") as caught:
        copy_to_scratch(remote(source), ScratchSpace(tmp_path, 8 * 1024**3))
    assert caught.value.reason is RejectReason.TOO_LARGE_FOR_FORMAT
    assert source.asked == []


def test_a_slide_that_is_replaced_while_it_is_copied_leaves_nothing(tmp_path: Path):
    with pytest.raises(SourceChanged):
        copy_to_scratch(remote(Replaced(bytes(5 * PIECE))), ScratchSpace(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_who_follows_the_copy_can_end_it_and_nothing_stays(tmp_path: Path):
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_to_scratch(remote(CountingSource(bytes(5 * PIECE))), ScratchSpace(tmp_path, on_copy=stop))
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_openslide_refuses_is_removed(tmp_path: Path):
    data = b"SQLite format 3\0" + bytes(4096)
    with pytest.raises(SlideRejected):
        open_slide(remote(CountingSource(data), "a.svslide"), scratch=ScratchSpace(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_slide_that_no_layout_claims_says_why_it_is_copied_and_where_it_was_scanned(tmp_path: Path):
    data = write_scn(tmp_path / "a.scn").read_bytes()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    reader = open_slide(remote(CountingSource(data), "a.scn"), scratch=ScratchSpace(scratch))
    found = reader.inspection
    assert (found.format, found.reading_path, found.bounds) == ("scn", "scratch", REGION)
    assert found.path_reason
    assert found.path_reason.endswith(".")
    assert len(list(scratch.iterdir())) == 1
    reader.close()
    assert list(scratch.iterdir()) == []


def test_a_slide_on_this_disk_is_not_copied(tmp_path: Path):
    path = write_scn(tmp_path / "a.scn")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    reader = open_slide(open_local_source(path), scratch=ScratchSpace(scratch, 0))
    assert reader.inspection.reading_path == "scratch"
    assert list(scratch.iterdir()) == []
    reader.close()
    assert path.exists()


def test_a_native_slide_has_no_reason(tmp_path: Path):
    reader = open_slide(open_local_source(write_svs(tmp_path / "a.svs", width=500, height=500)))
    assert (reader.inspection.reading_path, reader.inspection.path_reason) == ("native", None)


def test_a_log_of_the_copy_has_ten_lines():
    told: list[tuple[int, int]] = []
    follow = throttle_to_tenths(lambda done, total: told.append((done, total)))
    for done in range(1, 1001):
        follow(done, 1000)
    assert [done for done, _ in told] == list(range(100, 1001, 100))


def test_copies_of_killed_processes_are_removed_by_the_next_and_those_of_living_ones_stay(tmp_path: Path):
    """A pod keeps its disk when its container is killed and starts anew."""
    source = remote(CountingSource(b"slide"))
    living, _ = copy_to_scratch(source, ScratchSpace(tmp_path))
    copying = (
        "import os, sys; from pathlib import Path; from tests.fakes.ranges import MemoryRangeSource as Source;"
        "from wsi.slide.files.scratch import ScratchSpace, copy_to_scratch;"
        "from wsi.slide.files.source import SlideSource;"
        "copy_to_scratch(SlideSource(files=(('a', Source(lambda: (b'slide', 'etag'))),)), "
        "ScratchSpace(Path(sys.argv[1]), 9)); os.abort()"
    )
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run([sys.executable, "-c", copying, str(tmp_path)], check=True, capture_output=True)
    (orphan,) = set(tmp_path.iterdir()) - {living}
    for folder in (living, orphan):
        os.utime(folder, (0, 0))
    other, _ = copy_to_scratch(source, ScratchSpace(tmp_path))
    assert set(tmp_path.iterdir()) == {living, other}
    for folder in (living, other):
        remove_copy(folder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../a.svs", "/a.svs", "a/../../b.svs", "a//b.svs", "a/./b.svs", "a\0.svs", ""])
def test_no_copy_is_written_outside_its_folder(tmp_path: Path, name: str):
    source = SlideSource(files=((name, CountingSource(b"a slide")),))
    scratch = tmp_path / "scratch"
    with pytest.raises(SlideRejected) as refused:
        copy_to_scratch(source, ScratchSpace(scratch))
    assert refused.value.reason is RejectReason.NOT_A_SLIDE
    assert not scratch.exists()
