"""A watched folder between two searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tessera.local_run.sources import Sources
from tessera.watching.place import SearchedPlace
from tests.slides import write_svs


def change(file: Path) -> None:
    os.utime(file, ns=(0, 0))


def grow(file: Path) -> None:
    before = file.stat()
    file.write_bytes(file.read_bytes() + b"more")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # as `cp -p` restores the time


@pytest.mark.parametrize("act", [change, grow, Path.unlink])
def test_a_slide_that_changes_after_a_search_is_not_as_found(tmp_path: Path, act) -> None:
    (tmp_path / "in").mkdir()
    file = write_svs(tmp_path / "in/a.svs", width=300, height=300)
    place = SearchedPlace(str(tmp_path / "in"), out=tmp_path / "out", remote=Sources())
    (slide,) = place.search().slides
    assert place.is_as_found(slide)
    act(file)
    assert not place.is_as_found(slide)
