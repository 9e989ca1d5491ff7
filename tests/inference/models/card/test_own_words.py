"""What a network itself says when it breaks off reaches the user, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from inference.models.card.own_words import MOST, describe_error
from inference.models.loaded import LoadedModel
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.packages import write_package
from wsi.errors import ModelFailed


def loaded(folder: Path) -> LoadedModel:
    return load_model(read_package(folder), folder, "cpu")


class TwoInputs(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=(2, 3))[:, :2] * scale


class OnCuda(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to("cuda:0").mean(dim=(2, 3))[:, :2].cpu()


class MixedPrecision(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(3, 2).half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x.mean(dim=(2, 3)).to(torch.float64))


class FixedBatch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(8, 3, 4096).mean(dim=2)[:, :2]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (TwoInputs, "missing value for argument 'scale'"),
        (OnCuda, "(CUDA|NVIDIA)"),
        (MixedPrecision, "dtype"),
        (FixedBatch, "invalid for input"),
    ],
)
def test_a_networks_own_words_reach_the_user(tmp_path: Path, module: type[torch.nn.Module], words: str) -> None:
    if module is OnCuda and torch.cuda.is_available():
        pytest.skip("here it may run")
    with pytest.raises(ModelFailed, match=rf"broke off at 3 RGB tiles of 64 px in fp32: .*{words}") as caught:
        loaded(write_package(tmp_path / "model", module().eval()))
    assert "\n" not in caught.value.sentence


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            AssertionError("Input height (256) doesn't match model (224)."),
            "Input height (256) doesn't match model (224)",
        ),
        (RuntimeError("\n  shape '[1]' is invalid\n at line 7"), "shape '[1]' is invalid"),
        (KeyError("pixel_values"), "there is no 'pixel_values'"),
        (ValueError(), "ValueError"),
        (RuntimeError("The above TorchScript interpreter failed\n  File 1\nRuntimeError: CUDA is off"), "CUDA is off"),
    ],
)
def test_the_line_that_says_what_went_wrong_is_taken(error: Exception, words: str) -> None:
    assert describe_error(error) == words


def test_a_long_line_is_cut() -> None:
    assert len(describe_error(RuntimeError("x" * 10_000))) == MOST
