"""Networks that run and whose scores are wrong are refused at loading, with the reason and what mends it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from inference.models.checks.network_check import check_on_tiles, check_shape, choose_trial_rows, make_tiles
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import LoadedModel
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.packages import CONFIG, network, write_package
from tests.inference.packages_with_card import tiles, vit, write_card_package
from wsi.errors import ModelError, ModelFailed


def load(folder: Path, device: str = "cpu") -> LoadedModel:
    return load_model(read_package(folder), folder, device)


def doubts_of(model: LoadedModel, pixels: NDArray[np.uint8]) -> tuple[str, ...]:
    return check_on_tiles(model, pixels, score_tiles(model, pixels))


class Wrapped(torch.nn.Module):
    """A network whose last features go through `last`."""

    def __init__(self, last: torch.nn.Module, classes: int = 2) -> None:
        super().__init__()
        self.body = network(classes)
        self.last = last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.body(x))


def normalised(**how: Any) -> torch.nn.Module:
    """Features that a batch normalisation scales."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.BatchNorm2d(8, **how), torch.nn.ReLU()) + (
        torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 2))
    )


def traced_in_training(module: torch.nn.Module) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(module.train(), torch.rand(4, 3, 64, 64), check_trace=False)


class Argmax(torch.nn.Module):
    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        classes = x.argmax(1, keepdim=True)
        return classes if self.whole else classes.float()


class Turned(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.T


class Constant(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 0 + 0.3


def one_class(**changes: Any) -> dict[str, Any]:
    return {"num_classes": 1, "class_names": ["Tumor"], **changes}


ALONE = {"activation": "none"}
REFUSED: dict[str, tuple[Any, dict[str, Any], dict[str, Any] | None, str]] = {
    "dropout traced in training mode": (
        lambda: traced_in_training(Wrapped(torch.nn.Dropout(0.5))),
        {},
        None,
        r"other scores when it is asked again: .*dropout.*model\.eval\(\)",
    ),
    "batch normalisation traced in training mode": (
        lambda: traced_in_training(normalised()),
        {},
        None,
        r"depend on the other tiles of its batch: they differ by up to 0\.\d+.*model\.eval\(\)",
    ),
    "batch normalisation without running statistics": (
        lambda: normalised(track_running_stats=False),
        {},
        None,
        "depend on the other tiles of its batch.*track_running_stats",
    ),
    "softmax in the network and in the config": (
        lambda: Wrapped(torch.nn.Softmax(1)),
        {},
        None,
        'ends with a softmax.*"activation": "none"',
    ),
    "sigmoid in the network and in the config": (
        lambda: Wrapped(torch.nn.Sigmoid(), 1),
        one_class(),
        None,
        'ends with a sigmoid.*"activation": "none"',
    ),
    "logits that the card calls probabilities": (
        lambda: Wrapped(torch.nn.Identity()),
        {},
        ALONE,
        'gives -?[0-9.]+ to [0-9.]+ where its card says classification without an activation.*"softmax"',
    ),
    "whole numbers of an argmax": (lambda: Wrapped(Argmax(True)), one_class(), None, "whole numbers, as an argmax"),
    "an argmax made a float": (lambda: Wrapped(Argmax(False)), one_class(), ALONE, "ends with an argmax"),
    "rows and columns turned": (
        lambda: Wrapped(Turned(), 3),
        {"num_classes": 3, "class_names": ["a", "b", "c"]},
        None,
        r"\[3, 2\] for 2 tiles, a row a class: transpose",
    ),
    "rows and columns turned, as many": (lambda: Wrapped(Turned()), {}, None, r"\[2, 3\] for 3 tiles, a row a class"),
    "one value whatever it sees": (lambda: Wrapped(Constant()), {}, None, "the same values for every tile"),
}


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", REFUSED)
def test_a_network_whose_scores_would_be_wrong_is_refused(tmp_path: Path, name: str, device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    make, changes, card, words = REFUSED[name]
    module = make()
    folder = write_package(tmp_path / "model", module if isinstance(module, torch.jit.ScriptModule) else module.eval())
    change_config(folder, changes)
    if card is not None:
        write_json(folder / "card.json", {"spec_version": "1.0", **card})
    torch.manual_seed(0)  # dropout is random: one time in 1,024 it is the same for every batch
    with pytest.raises(ModelError, match=words):
        load(folder, device)


@pytest.mark.gpu
def test_a_gpu_takes_what_the_cpu_takes(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    assert doubts_of(load(write_package(tmp_path / "a"), "cuda"), tiles(20, 256)) == ()
    for precision in ("fp16", "bf16"):
        folder = write_card_package(tmp_path / precision, vit(), precision=precision, batch=16)
        assert doubts_of(load(folder, "cuda"), tiles(20, 48)) == ()


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value))


def change_config(folder: Path, changes: dict[str, Any]) -> None:
    write_json(folder / "config.json", {**CONFIG, **changes})


def test_weights_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    module = vit()
    with torch.no_grad():
        next(module.parameters()).fill_(float("nan"))
    with pytest.raises(ModelFailed, match="values that are not numbers: its weights hold some"):
        load(write_card_package(tmp_path / "nan", module))


@pytest.mark.parametrize("last", [torch.nn.Softmax(1), torch.nn.LogSoftmax(1)], ids=["softmax", "log softmax"])
def test_a_network_that_ends_with_a_softmax_runs_where_the_card_knows_it(tmp_path: Path, last: torch.nn.Module) -> None:
    folder = write_package(tmp_path / "model", Wrapped(last).eval())
    if isinstance(last, torch.nn.Softmax):
        write_json(folder / "card.json", {"spec_version": "1.0", "activation": "none"})
    assert load(folder).card.columns  # of a log softmax the softmax is the same


class SlightlyRandom(torch.nn.Module):
    """Moves scores by less than any tolerance."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1e-4 * torch.nn.functional.dropout(torch.ones(1024), 0.5, True).mean()


def test_a_network_that_differs_within_the_tolerance_when_it_is_asked_again_is_refused(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "model", Wrapped(SlightlyRandom()).eval())
    with pytest.raises(ModelFailed, match="random"):
        load(folder)


@pytest.mark.parametrize("columns", [1, 2, 3, 7])
def test_any_layout_of_a_row_a_tile_is_taken(tmp_path: Path, columns: int) -> None:
    folder = write_package(tmp_path / "model", network(columns))
    change_config(folder, {"num_classes": columns, "class_names": [f"c{number}" for number in range(columns)]})
    card = read_package(folder)
    rows = choose_trial_rows(card)
    assert rows != columns
    for shape in ([rows, columns], [rows, columns, 1, 1], [rows, 1, columns]):
        check_shape(shape, rows, card)
    for shape in ([columns, rows], [rows * columns + 1, 1], [1, rows * columns + 1], []):
        with pytest.raises(ModelFailed, match=r"must give \[tiles|a row a class|values a tile"):
            check_shape(shape, rows, card)


@pytest.mark.parametrize("side", [1, 15, 16, 224, 1000])
def test_made_tiles_are_three_different_ones_of_any_side(side: int) -> None:
    found = make_tiles(side)
    assert {tile.shape for tile in found} == {(side, side, 3)}
    assert len({tile.tobytes() for tile in found}) == 3
    for tile, again in zip(found, make_tiles(side), strict=True):
        np.testing.assert_array_equal(tile, again)


class BatchMean(torch.nn.Module):
    """Whatever else is in the batch moves a score, in batches of more tiles than the cheap check has."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.body = network()
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.body(x)
        if x.shape[0] > 4:
            scores = scores + self.by * (scores - scores.mean(0))
        return scores


def test_real_tiles_in_whole_batches_show_what_three_made_tiles_do_not(tmp_path: Path) -> None:
    pixels = tiles(20, 256)
    assert doubts_of(load(write_package(tmp_path / "fine")), pixels) == ()
    mixed = load(write_package(tmp_path / "mixed", BatchMean(1.0).eval()))
    with pytest.raises(ModelFailed, match="depend on the other tiles"):
        doubts_of(mixed, pixels)


def test_scores_beyond_the_range_of_their_column_are_doubted(tmp_path: Path) -> None:
    folder = write_card_package(
        tmp_path / "net",
        vit(),
        output="regression",
        activation="none",
        columns=[
            {"name": "a", "high": 1e-4},
            {"name": "b", "low": -50, "high": 50},
            {"name": "c", "low": -9, "high": 9},
        ],
    )
    (doubt,) = doubts_of(load(folder), tiles(8, 48))
    assert doubt.startswith("Column a reaches ")


def test_a_sigmoid_on_what_may_be_one_is_doubted(tmp_path: Path) -> None:
    class Hidden(torch.nn.Module):
        """Its graph does not end with it."""

        def __init__(self) -> None:
            super().__init__()
            self.body = network(1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.body(x)) * 1.0

    folder = write_package(tmp_path / "net", Hidden().eval())
    change_config(folder, one_class())
    (doubt,) = doubts_of(load(folder), tiles(8, 256))
    assert 'write "activation": "none"' in doubt
