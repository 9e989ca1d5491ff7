"""Some 340 packages, of every small architecture of timm in every format, right and with one fault each: a package
gives the scores of its network, or is refused with the sentence of its fault. None gives other scores.

`make test-long` runs all of them; the suite runs those of one architecture.
"""

from __future__ import annotations

import json
import os
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from inference.models.execution.scoring import score_tiles
from inference.models.making.packaging import Stated, make_package
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.packages import scripted
from tests.inference.packages_with_card import plain, seeded, tiles, write_card_package
from wsi.errors import ModelError
from wsi.records.model_card import Activation

SIDE = 160
LONG = bool(os.environ.get("TESSERA_LONG_TESTS"))
ARCHITECTURES = [name for name in timm.list_models("test_*") if LONG or name == "test_resnet"]
NORMAL = [0.5, 0.5, 0.5], [0.25, 0.25, 0.25]
NAMES = ("Other", "Stroma", "Tumor")


def built(name: str) -> torch.nn.Module:
    with seeded():
        return timm.create_model(name, num_classes=3).eval()


def write_torchscript(folder: Path, module: torch.jit.ScriptModule, **card: Any) -> Path:
    folder.mkdir()
    module.save(folder / "torchscript_model.pt")
    config = {
        "spec_version": "1.0",
        "architecture": "test",
        "num_classes": 3,
        "class_names": NAMES,
        "patch_size_pixels": SIDE,
        "spacing_um_px": 0.5,
        "transform": [{"name": "ToTensor"}, {"name": "Normalize", "arguments": {"mean": NORMAL[0], "std": NORMAL[1]}}],
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "card.json").write_text(json.dumps({"spec_version": "1.0", "batch": 4, **card}))
    return folder


def write_safetensors(folder: Path, name: str, module: torch.nn.Module, **changes: Any) -> Path:
    stated = {"architecture": f"timm/{name}", "architecture_arguments": {"num_classes": 3}, "batch": 4}
    return write_card_package(folder, module, **{**stated, "tile_px": SIDE, "input_px": SIDE, **changes})


def traced(module: torch.nn.Module) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.random.fork_rng(devices=[]):
            return torch.jit.trace(module, torch.rand(3, 3, SIDE, SIDE), check_trace=False)


class Ended(torch.nn.Module):
    """A network with one more step behind it."""

    def __init__(self, body: torch.nn.Module, step: str) -> None:
        super().__init__()
        self.body, self.step = body, step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.body(x)
        if self.step == "softmax":
            return torch.softmax(logits, 1)
        if self.step == "dropout":
            # Of many values: three logits may be dropped alike twice.
            return logits + torch.nn.functional.dropout(torch.ones(1024), 0.5, True).mean()
        if self.step == "turned":
            return logits.T
        if self.step == "argmax":
            return logits.argmax(1, keepdim=True).expand(-1, 3)
        if self.step == "constant":
            return logits * 0
        # Grown, since weights of chance give logits that differ by less than the tolerance.
        return (logits - logits.mean(0)) * 1000


def ended(step: str) -> Callable[[Path, str], Path]:
    return lambda folder, name: write_torchscript(folder, scripted(Ended(built(name), step).eval()))


def changed(change: Callable[[Path], None]) -> Callable[[Path, str], Path]:
    def write(folder: Path, name: str) -> Path:
        write_safetensors(folder, name, built(name))
        change(folder / "model.safetensors")
        return folder

    return write


def change_last(value: Callable[[torch.Tensor], torch.Tensor | None]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        held = load_file(path)
        last = [name for name in held if name.endswith(".weight")][-1]
        new = value(held.pop(last))
        save_file(held if new is None else {**held, last: new}, path)

    return change


def made(folder: Path, name: str) -> Path:
    source = folder.with_suffix(".ckpt")
    torch.save({"state_dict": {f"model.{key}": value for key, value in built(name).state_dict().items()}}, source)
    stated = Stated(
        architecture=f"timm/{name}",
        mpp=0.5,
        classes=NAMES,
        activation=Activation.SOFTMAX,
        mean=(0.5, 0.5, 0.5),
        std=(0.25, 0.25, 0.25),
        input_px=SIDE,
        batch=4,
    )
    make_package(source, folder, stated)
    return folder


#: What is done to a package -> how it is written. What must come of it stands in package_outcomes.toml.
PACKAGES: dict[str, Callable[[Path, str], Path]] = {
    "scripted": lambda folder, name: write_torchscript(folder, scripted(built(name))),
    "traced": lambda folder, name: write_torchscript(folder, traced(built(name))),
    "safetensors": lambda folder, name: write_safetensors(folder, name, built(name)),
    "made of a checkpoint": made,
    "traced in training mode": lambda folder, name: write_torchscript(folder, traced(built(name).train())),
    "dropout": ended("dropout"),
    "softmax twice": ended("softmax"),
    "turned": ended("turned"),
    "argmax": ended("argmax"),
    "constant": ended("constant"),
    "the batch's mean taken off": ended("centred"),
    "logits as probabilities": lambda folder, name: write_safetensors(folder, name, built(name), activation="none"),
    "other classes": lambda folder, name: write_safetensors(
        folder, name, built(name), columns=[{"name": "a"}, {"name": "b"}]
    ),
    "not a number": changed(change_last(lambda value: value * float("nan"))),
    "whole numbers": changed(change_last(lambda value: (value * 100).to(torch.int8))),
    "a tensor missing": changed(change_last(lambda value: None)),
    "a tensor of another shape": changed(change_last(lambda value: value.flatten()[:1].clone())),
    "cut short": changed(lambda path: path.write_bytes(path.read_bytes()[:-1000])),
    "a Git LFS pointer": changed(lambda path: path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")),
}
OUTCOMES = tomllib.loads((Path(__file__).parents[1] / "package_outcomes.toml").read_text())


def test_every_kind_of_package_has_its_outcome():
    assert OUTCOMES.keys() == PACKAGES.keys()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("what", PACKAGES)
def test_a_package_gives_the_scores_of_its_network_or_is_refused(tmp_path: Path, what: str, architecture: str) -> None:
    wanted = OUTCOMES[what]
    folder = PACKAGES[what](tmp_path / "model", architecture)
    pixels = tiles(3, SIDE)
    answer = scores_or_sentence(folder, pixels)
    if isinstance(answer, str):
        assert wanted["outcome"] != "taken", answer
        assert wanted.get("words", "") in answer
        assert answer.endswith(".")
    else:
        assert wanted["outcome"] != "refused", "it was taken"
        expected = plain(read_package(folder), built(architecture), pixels)
        np.testing.assert_allclose(answer, expected, atol=1e-4)


def scores_or_sentence(folder: Path, pixels: NDArray[np.uint8]) -> NDArray[np.float32] | str:
    try:
        return score_tiles(load_model(read_package(folder), folder, "cpu"), pixels)
    except ModelError as error:
        return error.sentence
