from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_worker.models.package import read_package
from gpu_worker.packages import fetch_package
from tests.gpu_worker.packages import write_package
from wsi.errors import ModelError
from wsi.memory.objects import MemoryObjects

BUCKET = "tessera-models"


@pytest.fixture
def registered(tmp_path):
    """Card, uri and bucket of a registered package."""
    folder = write_package(tmp_path / "source")
    card = read_package(folder)
    objects = MemoryObjects()
    for name in ("config.json", "torchscript_model.pt"):
        objects.put(f"models/{card.digest}/{name}", (folder / name).read_bytes())
    return card, f"s3://{BUCKET}/models/{card.digest}/", objects


def test_a_package_is_fetched_once_and_is_the_registered_one(tmp_path, registered):
    card, uri, objects = registered
    folder = fetch_package(card, uri, objects, BUCKET, tmp_path / "cache")
    assert read_package(folder).digest == card.digest
    objects.held.clear()
    assert fetch_package(card, uri, objects, BUCKET, tmp_path / "cache") == folder
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == [card.digest]


def test_other_bytes_than_those_registered_are_refused_and_not_kept(tmp_path, registered):
    card, uri, objects = registered
    objects.put(f"models/{card.digest}/torchscript_model.pt", b"other weights")
    with pytest.raises(ModelError, match="digest"):
        fetch_package(card, uri, objects, BUCKET, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("damage", ["other weights", None])
def test_a_cached_package_that_is_not_the_registered_one_is_fetched_again(tmp_path, registered, damage):
    card, uri, objects = registered
    weights = fetch_package(card, uri, objects, BUCKET, tmp_path / "cache") / "torchscript_model.pt"
    weights.write_text(damage) if damage else weights.unlink()
    assert read_package(fetch_package(card, uri, objects, BUCKET, tmp_path / "cache")).digest == card.digest


@pytest.mark.parametrize("digest", ["../../elsewhere", "/etc", "", "A" * 64])
def test_a_digest_that_is_none_names_no_folder(tmp_path, registered, digest):
    card, uri, objects = registered
    with pytest.raises(ModelError, match="digest"):
        fetch_package(replace(card, digest=digest), uri, objects, BUCKET, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_missing_file_and_another_bucket_are_named(tmp_path, registered):
    card, uri, objects = registered
    with pytest.raises(ModelError, match="bucket"):
        fetch_package(card, uri.replace(BUCKET, "elsewhere"), objects, BUCKET, tmp_path / "cache")
    objects.held.clear()
    with pytest.raises(ModelError, match="complete"):
        fetch_package(card, uri, objects, BUCKET, tmp_path / "cache")
