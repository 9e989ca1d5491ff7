"""Packages whose networks give a vector for each tile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from onnx import helper

from inference.models.checks.golden import Golden, write_golden
from inference.models.checks.tolerance import compare_scores
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.onnx_packages import graph, write_onnx_package
from tests.inference.packages_with_card import seeded, tiles, write_card_package
from wsi.errors import ModelError
from wsi.records.model_card import VECTOR_TOLERANCE, Activation, ModelCard, Tolerance
from wsi.records.outputs import EmbeddingOutput, Stored

WIDTH = 64  #: of timm/test_vit
ENCODER = {
    "output": "embedding",
    "activation": None,
    "columns": None,
    "dimensions": WIDTH,
    "pooling": "cls",
    "architecture_arguments": {"img_size": 32},
}


def vit(classes: int = 0) -> torch.nn.Module:
    timm = pytest.importorskip("timm")
    with seeded():
        return timm.create_model("test_vit", num_classes=classes, img_size=32).eval()


def package(folder, **changes):
    return write_card_package(folder, vit(), **{**ENCODER, **changes})


def loaded(folder):
    return load_model(read_package(folder), folder, "cpu")


def test_a_package_of_timm_gives_its_pooled_vector(tmp_path):
    card = read_package(package(tmp_path / "net", features="fp16"))
    assert card.embedding == EmbeddingOutput(dimensions=WIDTH, pooling="cls", stored=Stored.FP16)
    assert (card.columns, card.width, card.activation) == ((), WIDTH, Activation.NONE)
    assert ModelCard.from_json(card.as_json()) == card
    pixels = tiles(5, 32)
    found = score_tiles(loaded(tmp_path / "net"), pixels)
    planes = (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
    with torch.inference_mode():
        np.testing.assert_allclose(found, vit()(planes).numpy(), rtol=1e-4, atol=1e-4)


def test_a_package_of_onnx_may_be_an_encoder(tmp_path):
    said = {"output": "embedding", "dimensions": 5, "pooling": "global average"}
    folder = write_onnx_package(tmp_path / "net", graph(5), 5)
    folder = write_onnx_package(tmp_path / "net", graph(5), 5, **said, columns=None, activation="none")
    assert score_tiles(loaded(folder), tiles(3, 64)).shape == (3, 5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dimensions": 32}, "gives 64 values a tile; its card says 32 dimensions"),
        ({"architecture_arguments": {"img_size": 32, "global_pool": ""}}, "vectors of that length: it must pool them"),
        ({"dimensions": None}, "dimensions is missing, which belongs to output embedding"),
        ({"pooling": None}, "pooling is missing, which belongs to output embedding"),
        ({"columns": [{"name": "a"}]}, "columns does not belong to output embedding"),
        ({"activation": "softmax"}, "activation of output embedding must be none"),
        ({"features": "bf16"}, "features must be"),
        ({"output": "regression"}, "columns is missing, which belongs to output regression"),
    ],
)
def test_what_does_not_fit_an_encoder_is_named(tmp_path, changes, words):
    with pytest.raises(ModelError, match=words) as error:
        loaded(package(tmp_path / "net", **changes))
    assert error.value.sentence.endswith(".")


def test_an_encoder_that_ends_with_classes_is_found(tmp_path):
    nodes = [*graph(5).graph.node, helper.make_node("Softmax", ["y"], ["z"])]
    model = graph(5, nodes=nodes)
    model.graph.output[0].name = "z"
    said = {"output": "embedding", "dimensions": 5, "pooling": "none", "columns": None, "activation": "none"}
    with pytest.raises(ModelError, match="ends with a softmax"):
        loaded(write_onnx_package(tmp_path / "net", model, 5, **said))


def test_golden_vectors_must_be_reproduced(tmp_path):
    pixels = tiles(4, 32)
    scores = score_tiles(loaded(package(tmp_path / "net")), pixels)
    write_golden(tmp_path / "net/golden.npz", Golden(tiles=pixels, scores=scores))
    loaded(package(tmp_path / "net", golden="golden.npz"))
    write_golden(tmp_path / "net/golden.npz", Golden(tiles=pixels, scores=scores * 1.05))
    with pytest.raises(ModelError, match=r"differ by up to 0\.048 \(allowed 0\.02\)"):
        loaded(tmp_path / "net")


def test_vectors_are_compared_by_the_length_of_their_difference(tmp_path):
    card = read_package(package(tmp_path / "net"))
    reference = np.random.default_rng(0).normal(size=(6, WIDTH)).astype(np.float32) * 100
    assert card.tolerance == VECTOR_TOLERANCE
    assert compare_scores(card, reference, reference).max_difference == 0
    longer = compare_scores(card, reference * np.float32(1.01), reference)
    assert longer.max_difference == pytest.approx(0.01, rel=1e-3)
    assert longer.describe_excess(replace(card.tolerance, mean_difference=0.02)) is None
    turned = compare_scores(card, np.roll(reference, 1, axis=1), reference)
    assert turned.describe_excess(card.tolerance) is not None
    broken = np.where(np.arange(WIDTH) == 3, np.float32(np.nan), reference)
    assert compare_scores(card, broken, reference).describe_excess(card.tolerance) is not None
    assert compare_scores(card, np.zeros_like(reference), np.zeros_like(reference)).max_difference == 0


def test_a_looser_tolerance_of_vectors_needs_a_reason_and_a_part_may_be_left_out(tmp_path):
    stated = {"max_difference": 0.2, "reason": "bf16 in an EfficientNet"}
    found = read_package(package(tmp_path / "net", tolerance=stated)).tolerance
    assert found == Tolerance(max_difference=0.2, mean_difference=0.01, reason="bf16 in an EfficientNet")
    with pytest.raises(ModelError, match=r"tolerance\.max_difference is looser than the default: write the reason"):
        read_package(package(tmp_path / "net", tolerance={"max_difference": 0.2}))
    assert read_package(package(tmp_path / "net", tolerance={"max_difference": 0.015})).tolerance.reason == ""
