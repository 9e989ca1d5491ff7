"""A slide's bytes on this disk: whole and of one version, or an error that says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wsi.errors import SourceChanged, SourceMissing, SourceTruncated
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange, FileSource


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.svs").write_bytes(bytes(range(200)))
    return tmp_path / "a.svs"


def test_a_range_past_the_end_is_truncated(path: Path) -> None:
    source = FileSource(path)
    assert source.read(ByteRange(10, 20)) == bytes(range(10, 20))
    with pytest.raises(SourceTruncated):
        source.read(ByteRange(190, 201))
    source.close()


@pytest.mark.parametrize("left", [100, 200, 300])
def test_a_file_that_is_written_over_while_it_is_read_gives_no_mixed_result(path: Path, left: int) -> None:
    source = FileSource(path)
    path.write_bytes(b"\0" * left)
    with pytest.raises(SourceChanged):
        source.read(ByteRange(0, 10))
    source.close()


def test_a_file_that_another_one_takes_the_place_of_is_read_on(path: Path, tmp_path: Path) -> None:
    source = FileSource(path)
    (tmp_path / "new").write_bytes(b"\0" * 200)
    (tmp_path / "new").replace(path)
    assert source.read(ByteRange(0, 10)) == bytes(range(10))
    source.close()


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.svs")
    with pytest.raises(SourceMissing, match="not a file"):
        open_local_source(tmp_path / "pipe.svs")


def test_a_path_that_the_system_refuses_is_told_in_a_sentence(tmp_path: Path) -> None:
    """A name that no file system takes stands for a file that may not be read: root, who runs some tests, may."""
    with pytest.raises(SourceMissing):
        open_local_source(tmp_path / ("n" * 300 + ".svs"))
