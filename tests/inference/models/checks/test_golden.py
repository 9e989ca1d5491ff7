from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.models.checks.golden import Golden, read_golden, write_golden
from inference.models.checks.tolerance import Difference, compare_scores
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.packages import network, write_package
from tests.inference.packages_with_card import tiles
from wsi.errors import ModelError
from wsi.models.package_files import GOLDEN
from wsi.records.model_card import ModelCard, OutputColumn, OutputKind, Tolerance


def package(folder, module=None, *, golden: Golden | None = None):
    """A WSInfer package whose card names golden tiles: those of the network itself, unless others are given."""
    write_package(folder, module)
    (folder / "card.json").write_text('{"spec_version": "1.0", "batch": 8, "golden": "golden.npz"}')
    write_golden(folder / GOLDEN, golden or golden_of(folder.parent / "reference"))
    return folder


def golden_of(folder):
    write_package(folder)
    pixels = tiles(12, 256)
    return Golden(tiles=pixels, scores=score_tiles(load_model(read_package(folder), folder, "cpu"), pixels))


def loaded(folder):
    return load_model(read_package(folder), folder, "cpu")


def test_a_model_that_reproduces_its_golden_tiles_loads(tmp_path):
    assert loaded(package(tmp_path / "net")).card.batch == 8


def test_other_weights_are_found_before_the_first_job_and_the_difference_is_named(tmp_path):
    folder = package(tmp_path / "net", network(seed=1))
    with pytest.raises(ModelError, match=r"golden tiles: the scores of 12 tiles differ by up to 0\.\d+ "):
        loaded(folder)


def test_golden_scores_may_be_off_by_the_cards_tolerance_and_no_more(tmp_path):
    golden = golden_of(tmp_path / "reference")
    near = replace(golden, scores=golden.scores + np.float32(4e-4))
    assert loaded(package(tmp_path / "near", golden=near))
    far = golden.scores.copy()
    far[3, 0] += np.float32(6e-3)
    with pytest.raises(ModelError, match=r"up to 0\.006"):
        loaded(package(tmp_path / "far", golden=replace(golden, scores=far)))


def test_a_network_that_answers_by_chance_in_whole_batches_is_refused(tmp_path):
    class Chance(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            means = x.mean(dim=(2, 3))[:, :2]
            return means + torch.rand(x.shape[0], 2) / 1000 if x.shape[0] > 4 else means

    write_package(tmp_path / "reference", Chance())
    golden = Golden(tiles=tiles(12, 64), scores=score_tiles(loaded(tmp_path / "reference"), tiles(12, 64)))
    with pytest.raises(ModelError, match="random"):
        loaded(package(tmp_path / "net", Chance(), golden=golden))


@pytest.mark.parametrize(
    "changes",
    [
        {"tiles": np.zeros((2, 8, 8, 3), np.float32)},
        {"tiles": np.zeros((2, 8, 8, 4), np.uint8)},
        {"tiles": np.zeros((0, 8, 8, 3), np.uint8), "scores": np.zeros((0, 2), np.float32)},
        {"tiles": np.zeros((2, 0, 8, 3), np.uint8)},
        {"tiles": np.zeros((257, 2, 2, 3), np.uint8), "scores": np.zeros((257, 2), np.float32)},
        {"scores": np.zeros((2, 3), np.float32)},
        {"scores": np.zeros((2, 2))},
        {"scores": np.full((2, 2), np.nan, np.float32)},
    ],
)
def test_golden_tiles_that_do_not_fit_the_card_are_refused(tmp_path, changes):
    fitting = {"tiles": np.zeros((2, 8, 8, 3), np.uint8), "scores": np.zeros((2, 2), np.float32)}
    card = read_package(write_package(tmp_path / "net"))
    write_golden(tmp_path / GOLDEN, Golden(**fitting))
    assert len(read_golden(tmp_path / GOLDEN, card).tiles) == 2
    write_golden(tmp_path / GOLDEN, Golden(**{**fitting, **changes}))
    with pytest.raises(ModelError, match="must hold"):
        read_golden(tmp_path / GOLDEN, card)


def test_a_golden_file_that_is_none_is_refused(tmp_path):
    card = read_package(write_package(tmp_path / "net"))
    path = tmp_path / GOLDEN
    write_golden(path, Golden(tiles=tiles(2, 64), scores=np.zeros((2, 2), np.float32)))
    whole = path.read_bytes()
    np.savez(tmp_path / "objects.npz", tiles=np.array([{}]), scores=np.array([{}]))
    np.savez(tmp_path / "others.npz", pictures=np.zeros(2))
    for data in (
        b"",
        b"PK",
        whole[: len(whole) // 2],
        whole[:200] + bytes(50) + whole[250:],
        (tmp_path / "objects.npz").read_bytes(),
        (tmp_path / "others.npz").read_bytes(),
    ):
        path.write_bytes(data)
        with pytest.raises(ModelError, match="damaged"):
            read_golden(path, card)


CARD = ModelCard(
    name="n",
    version="1",
    digest="",
    kind="torchscript",
    tile_px=8,
    mpp=0.5,
    input_px=8,
    columns=(OutputColumn(name="a"), OutputColumn(name="b")),
    output=OutputKind.CLASSIFICATION,
)


def test_differences_are_counted_in_parts_of_a_columns_range():
    one = np.array([[0.6, 0.4], [0.2, 0.8]], np.float32)
    other = np.array([[0.4, 0.6], [0.2, 0.8]], np.float32)
    found = compare_scores(CARD, one, other)
    assert found == Difference(
        tiles=2, max_difference=pytest.approx(0.2), mean_difference=pytest.approx(0.1), top1_changes=1
    )
    wide = replace(CARD, columns=tuple(replace(column, low=-5.0, high=5.0) for column in CARD.columns))
    assert compare_scores(wide, one, other).max_difference == pytest.approx(0.02)
    assert compare_scores(replace(CARD, output=OutputKind.REGRESSION), one, other).top1_changes == 0


def test_of_one_column_the_class_is_the_side_of_its_middle():
    single = replace(CARD, columns=(OutputColumn(name="a"),))
    one, other = np.array([[0.51], [0.9], [0.1]], np.float32), np.array([[0.49], [0.6], [0.2]], np.float32)
    assert compare_scores(single, one, other).top1_changes == 1


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, None),
        ({"max_difference": 6e-3}, "up to"),
        ({"mean_difference": 6e-4}, "on average"),
        ({"max_difference": float("nan")}, "nan"),
        ({"top1_changes": 1}, None),
        ({"top1_changes": 2}, None),
        ({"top1_changes": 3}, "class of 3"),
        ({"top1_changes": 1, "tiles": 12}, None),
        ({"top1_changes": 2, "tiles": 12}, "class of 2"),
    ],
)
def test_what_is_beyond_the_tolerance_is_said(found, words):
    near = {"tiles": 2048, "max_difference": 4e-3, "mean_difference": 4e-4, "top1_changes": 0}
    said = Difference(**{**near, **found}).describe_excess(Tolerance())
    assert (said is None) if words is None else (words in said)
