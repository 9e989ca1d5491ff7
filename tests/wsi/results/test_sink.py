from __future__ import annotations

import hashlib

import pytest

from tests.fakes.objects import MemoryObjects
from wsi.results.sink import FolderSink, ObjectSink


def _seeks(file):
    file.write(b"0123456789")
    file.seek(2)
    file.write(b"xx")


def _breaks(file):
    file.write(b"half")
    raise OSError("disk full")


def test_a_folder_gets_the_whole_file_with_its_digest(tmp_path):
    result = FolderSink(tmp_path / "new").write("a.csv", "text/csv", _seeks)
    assert (tmp_path / "new" / "a.csv").read_bytes() == b"01xx456789"
    assert (result.size, result.sha256) == (10, hashlib.sha256(b"01xx456789").hexdigest())


def test_a_broken_write_leaves_what_stood_there_and_no_temporary_file(tmp_path):
    sink = FolderSink(tmp_path)
    sink.write("a.csv", "text/csv", _seeks)
    with pytest.raises(OSError, match="disk full"):
        sink.write("a.csv", "text/csv", _breaks)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_bytes() == b"01xx456789"


def test_objects_lie_below_the_prefix_and_a_broken_write_puts_none():
    objects = MemoryObjects()
    sink = ObjectSink(objects, "t/jobs/j/results/")
    result = sink.write("a.csv", "text/csv", _seeks)
    assert result.key == "t/jobs/j/results/a.csv"
    assert objects.get(result.key) == b"01xx456789"
    with pytest.raises(OSError, match="disk full"):
        sink.write("b.csv", "text/csv", _breaks)
    assert objects.delete_below("t/jobs/j/results/") == 1
