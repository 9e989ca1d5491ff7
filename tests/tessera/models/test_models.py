"""`tessera models`: packages before they are registered."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

from inference.models.checks.golden import read_golden
from inference.models.package import read_package
from tessera.cli import app
from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.sources import Sources
from tessera.models.tiles import read_tiles
from tests.inference.cases import boxes, open_path, whole_plan
from tests.inference.packages import write_package
from tests.slides import write_svs
from wsi.errors import ModelError


def models(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["models", *map(str, arguments)], env={"COLUMNS": "200"})


def package(folder: Path, **card: object) -> Path:
    write_package(folder)
    (folder / "card.json").write_text(json.dumps({"spec_version": "1.0", "batch": 16, **card}))
    return folder


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    return write_svs(tmp_path / "a.svs", width=1500, height=1500)


def test_check_prints_the_card_and_what_is_not_known(tmp_path: Path) -> None:
    folder = package(tmp_path / "net", stain="H&E")
    result = models("check", folder)
    assert result.exit_code == 0, result.output
    for words in (
        read_package(folder).digest,
        "prob_Other, prob_Tumor",
        "H&E",
        "none: `tessera models golden`",
        "--slide",
    ):
        assert words in result.stdout


def test_check_compares_the_cards_precision_with_fp32_on_the_slides_tiles(tmp_path: Path, slide: Path) -> None:
    result = models("check", package(tmp_path / "net", precision="fp16"), "--slide", slide, "--tiles", 20)
    assert result.exit_code == 0, result.output
    found = re.search(r"20 tiles: max \|dp\| ([0-9.e-]+), mean ([0-9.e-]+)", result.stdout)
    assert found is not None, result.stdout
    assert 0 < float(found[1]) <= 5e-3
    assert re.search(r"within the tolerance\W+yes", result.stdout)


def test_a_precision_that_costs_more_than_the_card_allows_fails(tmp_path: Path, slide: Path) -> None:
    tight = {"max_difference": 1e-6, "mean_difference": 1e-6}
    result = models("check", package(tmp_path / "net", precision="fp16", tolerance=tight), "--slide", slide)
    assert result.exit_code == 4
    assert "not within the card's tolerance in fp16" in result.stderr


def test_golden_adds_tiles_that_the_next_check_reproduces(tmp_path: Path, slide: Path) -> None:
    folder = package(tmp_path / "net", precision="fp16", licence="MIT")
    before = read_package(folder)
    result = models("golden", folder, "--slide", slide, "--tiles", 5)
    assert result.exit_code == 0, result.output
    card = read_package(folder)
    assert card.digest in result.stdout
    assert (card.files, card.licence) == ((*before.files, "golden.npz"), "MIT")
    assert len(read_golden(folder / "golden.npz", card).tiles) == 5
    assert re.search(r"golden tiles\W+reproduced", models("check", folder).stdout)
    write_package(folder, class_names=["Tumor", "Other"])  # the columns the other way round
    (folder / "torchscript_model.pt").write_bytes(_other_weights(tmp_path))
    result = models("check", folder)
    assert isinstance(result.exception, ModelError)
    assert "golden tiles" in result.exception.sentence


def _other_weights(folder: Path) -> bytes:
    from tests.inference.packages import network

    return (write_package(folder / "other", network(seed=3)) / "torchscript_model.pt").read_bytes()


def test_golden_of_a_wsinfer_package_without_a_card_makes_one(tmp_path: Path, slide: Path) -> None:
    folder = write_package(tmp_path / "net")
    assert models("golden", folder, "--slide", slide, "--tiles", 2).exit_code == 0
    assert json.loads((folder / "card.json").read_text()) == {"spec_version": "1.0", "golden": "golden.npz"}


def test_the_tiles_are_those_that_a_run_gives_the_model(tmp_path: Path, slide: Path) -> None:
    folder = package(tmp_path / "net")
    found = read_tiles(SlideInput(location=str(slide)), folder, 7, Sources())
    reader = open_path(slide)
    every = boxes(whole_plan(reader, card=read_package(folder)), reader, fill=0)
    assert len(found) == 7
    assert len(np.unique(found.reshape(7, -1), axis=0)) == 7
    assert {tile.tobytes() for tile in found} <= {tile.tobytes() for tile in every}
    one = read_tiles(SlideInput(location=str(slide)), folder, 7, Sources(), most_bytes=1)
    assert len(one) == 1


def test_wrong_calls_are_named(tmp_path: Path) -> None:
    folder = package(tmp_path / "net")
    assert models("check", tmp_path / "nowhere").exit_code == 2
    assert isinstance(models("check", tmp_path).exception, ModelError)
    assert isinstance(models("check", folder, "--slide", tmp_path / "nowhere.svs").exception, UsageError)
    blank = write_svs(tmp_path / "blank.svs", width=600, height=600, tissue=(0, 0, 0, 0))
    assert isinstance(models("golden", folder, "--slide", blank).exception, UsageError)


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while bool(x.sum() == x.sum()):
            x = x * 1
        return x


def test_model_that_never_returns_ends_the_check_with_a_sentence(tmp_path: Path, slide: Path) -> None:
    folder = write_package(tmp_path / "net", Endless())
    result = models("check", folder, "--slide", slide, "--tiles", 2, "--minutes", 0.15)
    assert isinstance(result.exception, ModelError)
    assert "did not finish within 0.15 minutes and was stopped" in result.exception.sentence


def test_model_that_needs_more_memory_than_allowed_is_stopped(tmp_path: Path) -> None:
    result = models("check", package(tmp_path / "net"), "--memory", 0.05)
    assert isinstance(result.exception, ModelError)
    assert "more than 0.05 GiB of memory" in result.exception.sentence


class Drops(torch.nn.Module):
    """Exported in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.nn.functional.dropout(x.mean(dim=(2, 3)), 0.5, True))


@pytest.mark.parametrize("command", ["check", "golden"])
def test_a_network_that_is_not_repeatable_gets_no_golden_tiles(tmp_path: Path, slide: Path, command: str) -> None:
    torch.manual_seed(0)  # what is dropped is random, and now and then it is the same
    folder = write_package(tmp_path / "net", Drops())
    result = models(command, folder, "--slide", slide, "--tiles", 2)
    assert isinstance(result.exception, ModelError)  # exit code 4
    assert "dropout" in result.exception.sentence
    assert not (folder / "golden.npz").exists()


def test_golden_tiles_that_the_cards_precision_does_not_reproduce_are_not_written(tmp_path: Path, slide: Path) -> None:
    tight = {"max_difference": 1e-6, "mean_difference": 1e-6}
    folder = package(tmp_path / "net", precision="fp16", tolerance=tight)
    before = (folder / "card.json").read_bytes()
    result = models("golden", folder, "--slide", slide, "--tiles", 2)
    assert isinstance(result.exception, ModelError)
    assert "no worker would reproduce these golden tiles" in result.exception.sentence
    assert (folder / "card.json").read_bytes() == before
    assert not (folder / "golden.npz").exists()


def test_doubts_are_told_beside_the_card(tmp_path: Path) -> None:
    result = models("check", package(tmp_path / "net", mpp_range=[0.2, 0.3]))
    assert result.exit_code == 0
    assert "perhaps not meant: mpp 0.5 lies above mpp_range 0.2 to 0.3" in result.stderr


def test_make_lists_the_options_that_no_file_answers_and_then_makes_the_package(tmp_path: Path, slide: Path) -> None:
    from safetensors.torch import save_file

    from tests.inference.packages_with_card import vit

    save_file(vit().state_dict(), tmp_path / "weights.safetensors")
    call = ("make", tmp_path / "weights.safetensors", tmp_path / "net", "--architecture", "timm/test_vit")
    result = models(*call)
    assert isinstance(result.exception, UsageError)
    for words in ("--mpp", "--normalise", "--classes", "--activation", "The network has 3 outputs."):
        assert words in str(result.exception)
    assert isinstance(models(*call, "--normalise", "1,2").exception, UsageError)
    assert isinstance(models(*call, "--arguments", "[]").exception, UsageError)
    facts = ("--mpp", 0.5, "--tile-px", 256, "--classes", "Other, Stroma,Tumor", "--activation", "softmax")
    result = models(*call, *facts, "--normalise", "half", "--licence", "MIT")
    assert result.exit_code == 0, result.output
    assert "The weights are those of timm/test_vit, to the last tensor." in result.stderr
    card = read_package(tmp_path / "net")
    assert card.digest in result.stdout
    assert (card.tile_px, card.input_px, card.licence) == (256, 32, "MIT")
    assert models("golden", tmp_path / "net", "--slide", slide, "--tiles", 2).exit_code == 0
    assert re.search(r"golden tiles\W+reproduced", models("check", tmp_path / "net").stdout)


def test_a_folder_of_weights_is_told_of_make(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").touch()
    result = models("check", tmp_path)
    assert isinstance(result.exception, ModelError)
    assert "it holds pytorch_model.bin and no card.json. `tessera models make`" in result.exception.sentence
