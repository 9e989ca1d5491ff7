from __future__ import annotations

import weakref
from dataclasses import replace

import pytest

from gpu_worker.packages import ModelCache, describe_served, fetch_package
from inference.models.package import read_package
from inference.models.stains.density import StainDensity
from tests.fakes.objects import MemoryObjects
from tests.inference.packages import write_package
from tests.wsi.plans import plan
from wsi.errors import ModelError, UnsuitableDevice
from wsi.models.builtin import EFFICIENTNET_LITE0, NUCLEI, STAIN_DENSITY
from wsi.records.model_card import ModelCard, Resize

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


def plan_of(number):
    return plan(card=replace(STAIN_DENSITY, digest=f"{number:064d}"))


def models_on_a_device_of(room, loads):
    """A device that holds `room` models, as long as somebody holds them."""
    alive = weakref.WeakSet()

    def load(card, package, device):
        loads.append(int(card.digest))
        if len(alive) >= room:
            raise UnsuitableDevice("This device is full.")
        model = StainDensity(card)
        alive.add(model)
        return model

    return ModelCache(packages=MemoryObjects(), bucket=BUCKET, cache=None, device="cpu", load=load)


def test_a_model_that_finds_the_device_full_takes_the_place_of_those_before():
    models = models_on_a_device_of(1, loads := [])
    assert [models.load(plan_of(number)).card.digest[-1] for number in (1, 2, 2)] == ["1", "2", "2"]
    assert loads == [1, 2, 2]
    with pytest.raises(UnsuitableDevice):
        models_on_a_device_of(0, []).load(plan_of(1))


def test_two_models_stay_loaded_where_there_is_room():
    models = models_on_a_device_of(9, loads := [])
    for number in (1, 2, 1, 2, 3, 2, 1):
        models.load(plan_of(number))
    assert loads == [1, 2, 3, 1]


def test_a_package_that_two_registrations_read_otherwise_is_two_models():
    models = models_on_a_device_of(9, loads := [])
    before = plan_of(1)
    after = replace(before, card=replace(before.card, resize=Resize.PILLOW_BILINEAR))
    for each in (before, after, before):
        assert models.load(each).card == each.card
    assert len(loads) == 2


def test_a_model_of_the_same_bytes_answers_under_its_own_name():
    models = models_on_a_device_of(9, [])
    ours = plan_of(1)
    theirs = replace(ours, card=replace(ours.card, name="secret-trial"))
    assert [models.load(each).card.name for each in (theirs, ours)] == ["secret-trial", ours.card.name]


@pytest.mark.parametrize(
    ("card", "output", "datatype", "shape"),
    [
        (STAIN_DENSITY, "scores", "FP32", (4,)),
        (EFFICIENTNET_LITE0, "vectors", "FP32", (1280,)),
        (NUCLEI, "maps", "UINT8", (2, 1024, 1024)),
    ],
)
def test_a_loaded_model_says_what_it_gives_for_a_tile(
    card: ModelCard, output: str, datatype: str, shape: tuple[int, ...]
) -> None:
    served = describe_served(card)
    assert (served.output, served.datatype, tuple(served.shape)) == (output, datatype, shape)
