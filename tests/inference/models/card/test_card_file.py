from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from inference.models.architectures import ARGUMENTS
from inference.models.card.file import make_schema
from inference.models.package import list_files, read_package
from tests.inference.packages import write_package
from wsi.errors import ModelError
from wsi.records.model_card import Activation, EdgeFill, OutputColumn, OutputKind, Resize, Tolerance

WHOLE = {
    "spec_version": "1.0",
    "kind": "safetensors",
    "architecture": "torchvision/resnet18",
    "output": "classification",
    "activation": "softmax",
    "columns": [{"name": "prob_Other"}, {"name": "prob_Tumor", "low": 0.5}],
    "tile_px": 256,
    "mpp": 0.5,
}
DOCS = Path(__file__).parents[4] / "docs"
SCHEMA = DOCS / "card.schema.json"


def package(folder, **changes):
    """A package whose weights nobody loads."""
    folder.mkdir(exist_ok=True)
    card = {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}
    (folder / "card.json").write_text(json.dumps(card))
    (folder / f"model.{card.get('kind')}").write_bytes(b"weights")
    return folder


def beside_config(folder, **said):
    write_package(folder)
    (folder / "card.json").write_text(json.dumps({"spec_version": "1.0", **said}))
    return folder


def test_a_whole_card_says_all_that_planning_and_inference_need(tmp_path):
    card = read_package(
        package(
            tmp_path / "net",
            input_px=224,
            std=[0.5, 0.5, 0.5],
            batch=256,
            precision="bf16",
            edge_fill="black",
            mpp_range=[0.2, 0.6],
            organ="breast",
            licence="MIT",
            tiles_per_second=900,
        )
    )
    assert (card.name, card.kind, card.tile_px, card.input_px, card.mpp) == ("net", "safetensors", 256, 224, 0.5)
    assert card.columns == (OutputColumn(name="prob_Other"), OutputColumn(name="prob_Tumor", low=0.5))
    assert (card.activation, card.output) == (Activation.SOFTMAX, OutputKind.CLASSIFICATION)
    assert (card.batch, card.precision, card.tolerance) == (256, "bf16", Tolerance())
    assert (card.std, card.edge_fill, card.mpp_range) == ((0.5, 0.5, 0.5), EdgeFill.BLACK, (0.2, 0.6))
    assert (card.organ, card.licence, card.tiles_per_second) == ("breast", "MIT", 900)
    assert card.files == ("card.json", "model.safetensors")
    listing = subprocess.run(["sha256sum", *card.files], cwd=tmp_path / "net", capture_output=True, check=True).stdout
    assert card.digest == hashlib.sha256(listing).hexdigest()


def test_a_card_beside_a_wsinfer_config_adds_what_the_config_lacks(tmp_path):
    bare = read_package(write_package(tmp_path / "bare"))
    card = read_package(beside_config(tmp_path / "more", precision="fp16", batch=64, stain="H&E"))
    assert (bare.precision, bare.batch, bare.files) == ("fp32", 32, ("config.json", "torchscript_model.pt"))
    assert (card.precision, card.batch, card.stain) == ("fp16", 64, "H&E")
    assert (card.mean, card.edge_fill, card.allow_upsampling) == (bare.mean, EdgeFill.BLACK, True)
    assert card.files == ("config.json", "torchscript_model.pt", "card.json")
    assert card.digest != bare.digest


def test_a_card_may_resize_as_pillow_does_and_keeps_fractions_unless_it_says_so(tmp_path):
    assert read_package(package(tmp_path / "plain")).resize is Resize.EXACT
    said = read_package(package(tmp_path / "net", resize="pillow-bicubic"))
    assert said.resize is Resize.PILLOW_BICUBIC
    with pytest.raises(ModelError, match="resize"):
        read_package(package(tmp_path / "other", resize="lanczos"))
    with pytest.raises(ModelError, match="says resize"):
        read_package(beside_config(tmp_path / "more", resize="exact"))


def test_the_golden_tiles_are_part_of_the_package_when_the_card_names_them(tmp_path):
    (tmp_path / "net").mkdir()
    (tmp_path / "net/golden.npz").write_bytes(b"1")
    without = read_package(package(tmp_path / "net"))
    first = read_package(package(tmp_path / "net", golden="golden.npz"))
    (tmp_path / "net/golden.npz").write_bytes(b"2")
    assert list_files(first) == (*without.files, "golden.npz")
    assert read_package(tmp_path / "net").digest != first.digest
    (tmp_path / "net/golden.npz").unlink()
    with pytest.raises(ModelError, match=r"golden\.npz"):
        read_package(tmp_path / "net")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spec_version": "2.0"}, "spec_version"),
        ({"kind": "pickle"}, "kind"),
        ({"kind": "onnx"}, "architecture"),
        ({"architecture": None}, "architecture"),
        ({"architecture": "os/system"}, "architecture"),
        ({"output": "segmentation"}, "output"),
        ({"activation": None}, "activation"),
        ({"columns": []}, "columns"),
        ({"columns": [{"name": "a"}, {"name": "a"}]}, "twice"),
        ({"columns": [{"name": "a\x01"}]}, "control characters"),
        ({"columns": [{"name": "a", "low": 1, "high": 1}]}, "lower"),
        ({"tile_px": 0}, "tile_px"),
        ({"tile_px": "256"}, "tile_px"),
        ({"mpp": 0}, "mpp"),
        ({"mpp": True}, "mpp"),
        ({"mpp_range": [0.6, 0.2]}, "mpp_range"),
        ({"mean": [0, 0]}, "mean"),
        ({"std": [1, 0, 1]}, "std"),
        ({"precision": "int8"}, "precision"),
        ({"batch": 0}, "batch"),
        ({"overlap": 0.5}, "overlap"),
        ({"golden": "../../etc/passwd"}, "golden"),
        ({"tolerance": {"max_difference": 0.006}}, "max_difference is looser than the default: write the reason"),
        ({"tolerance": {"top1_changes": 0.5, "reason": " "}}, "top1_changes is looser"),
    ],
)
def test_what_is_wrong_with_a_card_is_named_in_a_sentence(tmp_path, changes, words):
    with pytest.raises(ModelError, match=words) as error:
        read_package(package(tmp_path, **changes))
    assert error.value.sentence.endswith(".")


def test_a_looser_tolerance_with_a_reason_and_a_tighter_one_without_are_taken(tmp_path):
    loose = {"max_difference": 0.02, "reason": "Attention over 1,024 tokens; nobody reads the third digit."}
    assert read_package(package(tmp_path, tolerance=loose)).tolerance == Tolerance(**loose)
    assert read_package(package(tmp_path, tolerance={"max_difference": 1e-4})).tolerance.max_difference == 1e-4


@pytest.mark.parametrize("said", [{"tile_px": 512}, {"mean": [0, 0, 0]}, {"columns": [], "kind": "safetensors"}])
def test_a_card_does_not_say_again_what_the_config_says(tmp_path, said):
    with pytest.raises(ModelError, match=f"says {', '.join(said)}"):
        read_package(beside_config(tmp_path / "net", **said))


@pytest.mark.parametrize("text", ["<html>", "[]", "[" * 100_000])
def test_a_card_that_is_none_is_named(tmp_path, text):
    for folder in (package(tmp_path / "whole"), beside_config(tmp_path / "more")):
        (folder / "card.json").write_text(text)
        with pytest.raises(ModelError, match=r"card\.json"):
            read_package(folder)


def test_the_committed_schema_is_that_of_the_code_and_takes_real_cards(tmp_path):
    committed = json.loads(SCHEMA.read_text())
    assert committed == make_schema(), "make reference"
    jsonschema.Draft202012Validator.check_schema(committed)
    jsonschema.validate(WHOLE, committed)
    jsonschema.validate({"spec_version": "1.0", "precision": "fp16"}, committed)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**WHOLE, "overlap": 1}, committed)


def test_the_documented_card_is_one_and_names_every_argument(tmp_path):
    text = (DOCS / "reference/models.md").read_text()
    (tmp_path / "card.json").write_text(text.split("```json")[1].split("```")[0])
    for name in ("model.safetensors", "golden.npz"):
        (tmp_path / name).write_bytes(b"")
    assert read_package(tmp_path).precision == "fp16"
    said = next(line for line in text.splitlines() if line.startswith("- `architecture_arguments`"))
    parts = [set(re.findall("`(.+?)`", part)) for part in said.split(":", 1)[1].split(";")]
    assert dict(zip(("timm", "torchvision", "tessera"), parts, strict=True)) == ARGUMENTS
