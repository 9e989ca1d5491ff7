"""Reports on model packages: files, configs that editors saved, classes, outputs that are not what the config says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference.models.package import read_package
from tests.cases.reported import reported
from wsi.errors import ModelError
from wsi.records.model_card import Activation, Resize

#: As the WSInfer zoo has it.
CONFIG: dict[str, Any] = {
    "spec_version": "1.0",
    "architecture": "small",
    "num_classes": 2,
    "class_names": ["Other", "Tumor"],
    "patch_size_pixels": 256,
    "spacing_um_px": 0.5,
    "transform": [
        {"name": "Resize", "arguments": {"size": 64}},
        {"name": "ToTensor"},
        {"name": "Normalize", "arguments": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}},
    ],
}


def package(folder: Path, *, encoding: str = "utf-8", card: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A package whose weights nobody loads."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(json.dumps({**CONFIG, **changes}, ensure_ascii=False).encode(encoding))
    (folder / "torchscript_model.pt").write_bytes(b"weights")
    if card is not None:
        (folder / "card.json").write_text(json.dumps({"spec_version": "1.0", **card}))
    return folder


@reported("qupath-extension-wsinfer PR#36")
def test_weights_under_another_name_are_told_by_the_name_that_they_must_have(tmp_path: Path) -> None:
    (package(tmp_path) / "torchscript_model.pt").rename(tmp_path / "breastcancer.pt")
    with pytest.raises(ModelError, match=r"no file torchscript_model\.pt"):
        read_package(tmp_path)


@reported("wsinfer#221")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_config_that_a_windows_editor_saved_is_read(tmp_path: Path, encoding: str) -> None:
    card = read_package(package(tmp_path, encoding=encoding, class_names=["Übrige", "Tumor"]))
    assert [column.name for column in card.columns] == ["prob_Übrige", "prob_Tumor"]


@reported("tiatoolbox#125")
def test_columns_are_the_classes_in_the_order_of_the_config(tmp_path: Path) -> None:
    names = ["BACK", "NORM", "DEB", "TUM", "ADI", "MUC", "MUS", "STR", "LYM"]
    card = read_package(package(tmp_path, class_names=names, num_classes=9))
    assert [column.name for column in card.columns] == [f"prob_{name}" for name in names]


@reported("qupath-extension-wsinfer#69")
def test_a_network_that_ends_with_softmax_is_not_given_a_second_one(tmp_path: Path) -> None:
    assert read_package(package(tmp_path / "a")).activation is Activation.SOFTMAX
    assert read_package(package(tmp_path / "b", card={"activation": "none"})).activation is Activation.NONE


@reported("wsinfer#229", "qupath-extension-wsinfer#69")
def test_one_class_is_a_probability_and_not_always_one(tmp_path: Path) -> None:
    assert read_package(package(tmp_path, class_names=["Tumor"], num_classes=1)).activation is Activation.SIGMOID


@reported("qupath-extension-instanseg PR#127")
@pytest.mark.parametrize("stated", ["0.5", None, [0.5], "0,5"])
def test_a_scale_that_is_no_number_is_refused_by_its_key(tmp_path: Path, stated: Any) -> None:
    with pytest.raises(ModelError, match="spacing_um_px") as refused:
        read_package(package(tmp_path, spacing_um_px=stated))
    assert "must be microns per pixel" in refused.value.sentence


@reported("wsinfer#221")
def test_the_lymphocyte_config_of_the_zoo_is_read(tmp_path: Path) -> None:
    steps = [
        {"name": "Resize", "arguments": {"size": 299}},
        {"name": "ToTensor"},
        {"name": "Normalize", "arguments": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}},
    ]
    card = read_package(package(tmp_path, class_names=["Other", "Lymphocytes"], patch_size_pixels=100, transform=steps))
    assert (card.tile_px, card.input_px, card.resize) == (100, 299, Resize.PILLOW_BILINEAR)


@reported("wsinfer#223")
def test_a_config_without_classes_says_what_is_missing(tmp_path: Path) -> None:
    """Networks that give features are no classifiers."""
    with pytest.raises(ModelError, match="num_classes") as refused:
        read_package(package(tmp_path, class_names=[], num_classes=0))
    assert refused.value.sentence.endswith(".")


@reported("wsinfer#77")
def test_a_file_in_place_of_a_folder_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        read_package(package(tmp_path) / "torchscript_model.pt")
