"""The built-in network for nuclei, with its real weights in both forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import ModelProto

import models.nuclei.training as training
from inference.models.builtin.nuclei import GRAPH, WEIGHTS, WIDTHS, load_in_torch, load_on_cpu
from inference.models.checks.map_check import compute_maps
from inference.models.checks.network_check import make_tiles
from inference.models.checks.receptive_field import ReceptiveField, measure_receptive_field
from inference.models.loaded import DenseModel
from inference.models.registry import load_model
from models.nuclei.exporting import make_graph
from models.nuclei.finding import load_network
from tests.shared_slides import shared_slide
from wsi.models.builtin import NUCLEI

SMALL = replace(NUCLEI, tile_px=256, input_px=256)


@pytest.fixture(scope="module")
def pixels():
    from models.nuclei.pictures import PICTURE, read_annotated

    picture = read_annotated(shared_slide(f"pictures/{PICTURE}").parent).pixels
    return np.stack([picture[y : y + 256, x : x + 256] for y, x in ((0, 0), (700, 300), (1200, 1200))])


def test_the_card_is_that_of_the_training():
    rule = NUCLEI.objects.rule
    assert (rule.inside, rule.core, rule.least_core, rule.reach) == (
        training.RULE.inside,
        training.RULE.core,
        training.RULE.least_core,
        training.RULE.reach,
    )
    assert (NUCLEI.mean, NUCLEI.std, WIDTHS) == (training.MEAN, training.STD, training.WIDTHS)
    assert NUCLEI.objects.maps == training.OUTPUTS


def test_torch_and_onnx_differ_by_rare_roundings_alone(pixels):
    maps = [compute_maps(load(SMALL), pixels) for load in (load_on_cpu, lambda card: load_in_torch(card, "cpu"))]
    apart = np.abs(maps[0].astype(int) - maps[1])
    assert maps[0].max() > 250  # there are nuclei
    assert apart.max() <= 1
    assert (apart > 0).mean() < 1e-4


def test_the_graph_is_what_the_command_writes_of_the_weights():
    made, stored = make_graph(load_network(WEIGHTS)), ModelProto.FromString(GRAPH.read_bytes())
    assert made == stored


def test_its_margin_and_stride_are_what_is_measured():
    objects = NUCLEI.objects
    for model in (load_on_cpu(SMALL), load_in_torch(SMALL, "cpu")):
        assert measure_receptive_field(model) == ReceptiveField(stride=objects.stride, margin=objects.margin)
    assert NUCLEI.input_px % objects.stride == 0


def test_it_runs_at_its_own_side():
    model = load_model(NUCLEI, None, "cpu")
    assert isinstance(model, DenseModel)
    maps = compute_maps(model, make_tiles(NUCLEI.tile_px)[0][None])
    assert maps.shape == (1, 2, 1024, 1024)
