"""Every mistake in a card or a config gets a sentence of ours that says what to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference.models.card.rules import collect_doubts
from inference.models.package import read_package
from tests.inference.packages import CONFIG, write_package
from wsi.errors import ModelError

WHOLE: dict[str, Any] = {
    "spec_version": "1.0",
    "kind": "safetensors",
    "architecture": "torchvision/resnet18",
    "output": "classification",
    "activation": "softmax",
    "columns": [{"name": "prob_Other"}, {"name": "prob_Tumor"}],
    "tile_px": 256,
    "mpp": 0.5,
}


MACENKO: dict[str, Any] = {
    "method": "macenko",
    "stain_vectors": [[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]],
    "max_concentrations": [1.9705, 1.0308],
}
REINHARD: dict[str, Any] = {"method": "reinhard", "means": [66.0, 21.5, -12.25], "stds": [13.5, 8.0, 5.5]}


def stains(**changes: Any) -> dict[str, Any]:
    return {"stain_normalisation": {**MACENKO, **changes}}


def package(folder: Path, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    card = {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}
    (folder / "card.json").write_text(json.dumps(card))
    (folder / f"model.{card['kind']}").write_bytes(b"weights")
    return folder


def sentence(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_package(folder)
    assert "Traceback" not in caught.value.sentence
    return caught.value.sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"license": "MIT"}, "license is not known here; perhaps licence is meant"),
        ({"tile_size": 256}, "perhaps tile_px is meant"),
        ({"Activation": "softmax"}, "perhaps activation is meant"),
        ({"mpp_rnage": [0.2, 0.6]}, "perhaps mpp_range is meant"),
        ({"xyzzy": 1}, "xyzzy is not known here."),
        ({"tolerance": {"max_diference": 0.1}}, "tolerance.max_diference is not known here; perhaps"),
        ({"columns": [{"name": "a", "lowest": 0}]}, "columns.0.lowest is not known here; perhaps low is meant"),
        ({"mean": 0.5}, "mean must be three numbers, one each of red, green and blue, as [0.5, 0.5, 0.5]"),
        ({"std": [0.2, 0.2]}, "std must be three numbers, one each of red, green and blue, as [0.229, 0.224, 0.225]"),
        ({"mean": "imagenet"}, "mean must be three numbers"),
        ({"columns": ["prob_Other", "prob_Tumor"]}, 'columns.0 must be an object, as {"name": "prob_Tumor"}'),
        ({"columns": "Tumor"}, 'columns must be a list of objects, as [{"name": "prob_Tumor"}]'),
        ({"activation": "soft-max"}, "perhaps softmax is meant"),
        ({"precision": "float16"}, "precision must be 'fp32', 'fp16' or 'bf16', not \"float16\""),
        ({"tile_px": "256"}, 'tile_px must be a whole number, not "256"'),
        ({"mpp": "0.5"}, 'mpp must be a number, not "0.5"'),
        ({"kind": "torchscript"}, "kind must be"),
        ({"boxes": "resample"}, "boxes must be 'whole' or 'resampled', not \"resample\"; perhaps resampled is meant"),
        ({"stain_normalization": MACENKO}, "stain_normalization is not known here; perhaps stain_normalisation is"),
        ({"stain_normalisation": "macenko"}, 'must be an object, as {"method": "macenko", "stain_vectors": [['),
        ({"stain_normalisation": {"HERef": 1}}, "must state its method, macenko or reinhard, and the reference"),
        ({"stain_normalisation": {"method": "vahadane"}}, 'must be macenko or reinhard, not "vahadane".'),
        ({"stain_normalisation": {"method": "Machenko"}}, "perhaps macenko is meant"),
        ({"stain_normalisation": {"method": "macenko"}}, "stain_vectors is missing: the reference that tiles are"),
        ({"stain_normalisation": {"method": "reinhard", "means": [66, 21, -12]}}, "stds is missing: the reference"),
        (stains(HERef=[[1]]), "stain_normalisation.HERef is not known here; perhaps stain_vectors is meant"),
        (stains(beta_=0.1), "stain_normalisation.beta_ is not known here; perhaps beta is meant"),
        (stains(stain_vectors=[[0.56, 0.21], [0.72, 0.8], [0.4, 0.55]]), "as torchstain's HERef: transpose it to two"),
        (stains(stain_vectors=[[0.56, 0.72, 0.4]]), "stain_vectors must be two vectors of three optical densities"),
        (stains(max_concentrations=1.97), "max_concentrations must be two numbers above 0, of haematoxylin and"),
        (stains(io=0), "stain_normalisation.io must be 100"),
        (stains(io="240"), 'stain_normalisation.io must be a number, not "240"'),
        ({"stain_normalisation": {**REINHARD, "means": [181, 150, 120]}}, "of L in 0..100 and of a and b in -128..127"),
        ({"stain_normalisation": {**REINHARD, "stds": [1, 0, 1]}}, "stds must be three numbers above 0"),
        ({"stain_normalisation": {**REINHARD, "target_std": 1}}, "target_std is not known here; perhaps stds is"),
    ],
)
def test_a_mistake_in_a_card_says_what_to_write(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    said = sentence(package(tmp_path, **changes))
    assert words in said
    assert said.startswith("card.json is not a card: ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}, "write mean [0.485, 0.456, 0.406]"),
        ({"std": [58.395, 57.12, 57.375]}, "std is of colours in 0..255"),
        ({"mean": [123.675, 116.28, 103.53]}, "of 0..1: write mean [0.485, 0.456, 0.406]."),
        ({"mpp": 20}, "20 looks like a magnification"),
        ({"mpp": 40.0}, "40x is 0.25"),
        ({"columns": [{"name": "prob_Tumor"}]}, "A softmax over one column is always 1"),
        ({"columns": [{"name": "minx"}, {"name": "height"}]}, "columns names height, minx"),
        ({"mpp": 0.25, "mpp_range": [0.4, 0.6]}, "every such slide is coarser than the model"),
        (stains(stain_vectors=[[1.3, 1.4, 0.58], [0.14, 1.98, 0.22]]), "of length 2 and 2, and max_concentrations"),
        (stains(stain_vectors=[[1.3, 1.4, 0.58], [0.14, 1.98, 0.22]]), "write [[0.651"),
        (stains(stain_vectors=[[0.0, 0.0, 0.0], [0.07, 0.99, 0.11]]), "a vector of zeros"),
        (stains(stain_vectors=MACENKO["stain_vectors"][::-1]), "haematoxylin first, which takes more of the red"),
    ],
)
def test_a_card_that_contradicts_itself_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    assert words in sentence(package(tmp_path, **changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mpp": 10}, "10 is unusual"),
        ({"mpp": 2.0, "mpp_range": [0.2, 0.6]}, "every slide in it is shrunk"),
        ({"mpp": 8.0}, None),
        ({"mpp_range": [0.2, 0.6]}, None),
        ({"mpp": 0.25, "mpp_range": [0.2, 0.3]}, None),
        ({"std": [1 / 255] * 3}, None),  # a network that takes 0..255
    ],
)
def test_what_is_probably_not_meant_is_doubted_and_taken(
    tmp_path: Path, changes: dict[str, Any], words: str | None
) -> None:
    found = collect_doubts(read_package(package(tmp_path, **changes)))
    assert [words in one for one in found if words] == ([True] if words else [])
    assert bool(found) is (words is not None)


def test_a_card_that_allows_upsampling_may_be_finer_than_its_slides(tmp_path: Path) -> None:
    assert read_package(package(tmp_path, mpp=0.25, mpp_range=[0.4, 0.6], allow_upsampling=True))


@pytest.mark.parametrize("name", ["card.json", "config.json"])
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_package(tmp_path) if name == "config.json" else package(tmp_path)
    text = (folder / name).read_text()
    (folder / name).write_text(text.replace("{", '{"spec_version": "0.9", ', 1))
    assert sentence(folder) == f"{name} holds the key spec_version twice: leave one."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}, "0..255")],
)
def test_a_config_of_wsinfer_is_held_to_the_same_rules(tmp_path: Path, arguments: Any, words: str) -> None:
    folder = write_package(tmp_path)
    transform = [{"name": "ToTensor"}, {"name": "Normalize", "arguments": arguments}]
    (folder / "config.json").write_text(json.dumps({**CONFIG, "transform": transform}))
    assert words in sentence(folder)


#: As Hugging Face and timm write it beside their weights.
HUB = {"architecture": "resnet18", "num_classes": 2, "pretrained_cfg": {"mean": [0.485, 0.456, 0.406]}}


def test_a_config_of_another_tool_beside_a_card_does_not_decide_the_kind(tmp_path: Path) -> None:
    folder = package(tmp_path)
    (folder / "config.json").write_text(json.dumps(HUB))
    card = read_package(folder)
    assert (card.kind, card.files) == ("safetensors", ("card.json", "model.safetensors"))


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize("kind", ["torchscript", "safetensors", "onnx"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (LFS, "is a Git LFS pointer and not the file itself: run `git lfs pull`."),
        (b"<!DOCTYPE html><html>", "is a web page: download the file itself."),
        (b"\x80\x02}q\x00.", "is a pickle of weights, as torch.save writes it"),
    ],
)
def test_weights_that_are_something_else_are_told_by_what_they_are(
    tmp_path: Path, kind: str, data: bytes, words: str
) -> None:
    if kind == "torchscript":
        folder, weights = write_package(tmp_path), "torchscript_model.pt"
    else:
        folder, weights = (
            package(tmp_path, kind=kind, architecture=None if kind == "onnx" else "timm/a"),
            f"model.{kind}",
        )
    (folder / weights).write_bytes(data)
    assert f"{weights} {words}" in sentence(folder)


def test_safetensors_whose_length_begins_as_a_pickle_does_are_no_pickle(tmp_path: Path) -> None:
    folder = package(tmp_path)
    (folder / "model.safetensors").write_bytes((0x180).to_bytes(8, "little") + b'{"__metadata__": {}}')
    assert read_package(folder).kind == "safetensors"
