from __future__ import annotations

import hashlib
import json
import subprocess

import pytest

from inference.models.package import read_package
from tests.inference.packages import CONFIG, write_package
from wsi.errors import ModelError
from wsi.records.model_card import Activation, EdgeFill, Resize


def package(folder, **changes):
    """A package whose weights nobody loads."""
    folder.mkdir(exist_ok=True)
    config = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "torchscript_model.pt").write_bytes(b"weights")
    return folder


def test_the_card_says_what_the_config_says(tmp_path):
    card = read_package(package(tmp_path / "zoo-model"))
    assert (card.name, card.kind, card.tile_px, card.mpp, card.input_px) == ("zoo-model", "torchscript", 256, 0.5, 64)
    assert [column.name for column in card.columns] == ["prob_Other", "prob_Tumor"]
    assert card.mean == (0.7238, 0.5716, 0.6779)
    assert card.std == (0.112, 0.1459, 0.1089)
    assert card.edge_fill is EdgeFill.BLACK
    assert card.allow_upsampling


def test_several_logits_are_softmax_and_one_is_sigmoid(tmp_path):
    assert read_package(package(tmp_path)).activation is Activation.SOFTMAX
    one = package(tmp_path, num_classes=1, class_names=["Tumor"])
    assert read_package(one).activation is Activation.SIGMOID


def test_without_resize_and_normalize_the_tile_goes_in_as_it_is(tmp_path):
    card = read_package(package(tmp_path, transform=[{"name": "ToTensor"}]))
    assert (card.input_px, card.mean, card.std) == (256, (0, 0, 0), (1, 1, 1))
    assert card.resize is Resize.EXACT


@pytest.mark.parametrize(
    ("arguments", "resize"),
    [
        ({"size": 64}, Resize.PILLOW_BILINEAR),
        ({"size": [64]}, Resize.PILLOW_BILINEAR),
        ({"size": [64, 64], "interpolation": 2, "antialias": True}, Resize.PILLOW_BILINEAR),
        ({"size": 64, "interpolation": 3, "max_size": None}, Resize.PILLOW_BICUBIC),
        ({"size": 64, "antialias": False}, Resize.PILLOW_BILINEAR),  # of no meaning where Pillow resizes
    ],
)
def test_resize_is_that_of_pillow_and_bilinear_unless_it_says_otherwise(tmp_path, arguments, resize):
    steps = [{"name": "Resize", "arguments": arguments}, {"name": "ToTensor"}]
    card = read_package(package(tmp_path, transform=steps))
    assert (card.input_px, card.resize) == (64, resize)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"interpolation": 0}, "interpolation .* not 0"),
        ({"interpolation": 1}, "interpolation .* not 1"),
        ({"interpolation": "bicubic"}, "interpolation .* not 'bicubic'"),
        ({"interpolation": True}, "interpolation .* not True"),
        ({"interpolation": None}, "interpolation .* not None"),
        ({"antialias": "warn"}, "antialias"),
        ({"max_size": 128}, "max_size"),
        ({"fill": 0}, "fill"),
    ],
)
def test_a_resize_that_is_not_carried_out_is_refused_by_name(tmp_path, said, words):
    steps = [{"name": "Resize", "arguments": {"size": 64, **said}}, {"name": "ToTensor"}]
    with pytest.raises(ModelError, match=words):
        read_package(package(tmp_path, transform=steps))


def test_the_digest_is_what_sha256sum_prints(tmp_path):
    folder = package(tmp_path)
    listing = subprocess.run(
        ["sha256sum", "config.json", "torchscript_model.pt"], cwd=folder, capture_output=True, check=True
    ).stdout
    assert read_package(folder).digest == hashlib.sha256(listing).hexdigest()


def test_every_byte_counts_in_the_digest(tmp_path):
    before = read_package(package(tmp_path)).digest
    (tmp_path / "torchscript_model.pt").write_bytes(b"weightz")
    after = read_package(tmp_path).digest
    assert before != after


def test_extra_keys_are_allowed(tmp_path):
    assert read_package(package(tmp_path, trained_by="somebody")).tile_px == 256


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spec_version": "2.0"}, "spec_version"),
        ({"architecture": None}, "lacks architecture"),
        ({"spacing_um_px": 0}, "spacing_um_px"),
        ({"spacing_um_px": True}, "spacing_um_px"),
        ({"patch_size_pixels": 0}, "patch_size_pixels"),
        ({"patch_size_pixels": 256.5}, "patch_size_pixels"),
        ({"num_classes": 3}, "num_classes"),
        ({"class_names": ["Tumor", "Tumor"]}, "twice"),
        ({"class_names": "Tumor"}, "class_names"),
        ({"spacing_um_px": 10**400}, "spacing_um_px"),
        ({"spacing_um_px": 1e-300}, "spacing_um_px"),
        ({"patch_size_pixels": 20_000}, "patch_size_pixels"),
        ({"class_names": ["Tumor", "\ud800"]}, "control characters"),
        ({"class_names": ["Tumor", "a\x01"]}, "control characters"),
        ({"class_names": ["Tumor", "a\x85"]}, "control characters"),
        ({"transform": [{"name": "Resize", "arguments": ["size"]}, {"name": "ToTensor"}]}, "arguments"),
        ({"transform": [{"name": "Resize", "arguments": 64}, {"name": "ToTensor"}]}, "arguments"),
        ({"transform": [{"name": "Resize", "arguments": {"size": 10**6}}, {"name": "ToTensor"}]}, "Resize"),
        ({"transform": [{"name": "ToTensor", "arguments": {"scale": 2}}]}, "scale"),
        (
            {
                "transform": [
                    {"name": "ToTensor"},
                    {"name": "Normalize", "arguments": {"mean": [10**400, 0, 0], "std": [1, 1, 1]}},
                ]
            },
            "mean",
        ),
        ({"transform": []}, "ToTensor"),
        ({"transform": [{"name": "ToTensor"}, {"name": "Resize", "arguments": {"size": 64}}]}, "order"),
        ({"transform": [{"name": "CenterCrop"}, {"name": "ToTensor"}]}, "CenterCrop"),
        ({"transform": [{"name": "Resize", "arguments": {"size": [64, 32]}}, {"name": "ToTensor"}]}, "square"),
        (
            {"transform": [{"name": "ToTensor"}, {"name": "Normalize", "arguments": {"mean": [0, 0], "std": [1]}}]},
            "mean",
        ),
        (
            {
                "transform": [
                    {"name": "ToTensor"},
                    {"name": "Normalize", "arguments": {"mean": [0, 0, 0], "std": [1, 0, 1]}},
                ]
            },
            "std",
        ),
    ],
)
def test_what_is_wrong_is_named_in_a_sentence(tmp_path, changes, words):
    with pytest.raises(ModelError, match=words) as error:
        read_package(package(tmp_path, **changes))
    assert error.value.sentence.endswith(".")


def test_a_folder_that_is_no_package_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"config\.json"):
        read_package(tmp_path)
    package(tmp_path)
    (tmp_path / "config.json").write_text("<html>")
    with pytest.raises(ModelError, match="not JSON"):
        read_package(tmp_path)
    (tmp_path / "config.json").write_text("[" * 500_000)
    with pytest.raises(ModelError, match="not JSON"):
        read_package(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ModelError, match="object"):
        read_package(tmp_path)


def test_a_package_made_by_torch_reads(tmp_path):
    assert read_package(write_package(tmp_path / "small")).input_px == 64
