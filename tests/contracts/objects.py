"""What every `Objects` does. A suite gives `objects` and runs these facts."""

from __future__ import annotations

import pytest

from wsi.errors import SourceMissing


class ObjectsContract:
    def test_what_was_put_is_got(self, objects):
        objects.put("a/b", b"bytes", media_type="text/plain")
        assert objects.get("a/b") == b"bytes"

    def test_a_second_put_replaces_the_first(self, objects):
        objects.put("k", b"one")
        objects.put("k", b"two")
        assert objects.get("k") == b"two"

    def test_a_missing_key_is_a_typed_error(self, objects):
        with pytest.raises(SourceMissing):
            objects.get("nowhere")

    def test_a_file_is_stored_whole(self, objects, tmp_path):
        path = tmp_path / "result.csv"
        path.write_bytes(b"x" * 100_000)
        objects.put_file("r/result.csv", path, media_type="text/csv")
        assert objects.get("r/result.csv") == path.read_bytes()

    def test_deleting_below_a_prefix_leaves_the_rest(self, objects):
        for key in ("job/1", "job/2", "jobs", "other/1"):
            objects.put(key, b"")
        assert objects.delete_below("job/") == 2
        assert objects.get("jobs") == b""
        assert objects.get("other/1") == b""
        with pytest.raises(SourceMissing):
            objects.get("job/1")
        assert objects.delete_below("job/") == 0

    def test_a_link_names_the_key(self, objects):
        objects.put("t/results/tiles.csv", b"minx")
        assert "t/results/tiles.csv" in objects.presign_download(
            "t/results/tiles.csv", filename="tiles.csv", seconds=60
        )
