"""ONNX packages as users have them: a folder, read, loaded and run over a slide."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from inference.models.package import read_package
from inference.models.registry import load_model
from tests.inference.cases import boxes, open_path, run_all, small_slide, whole_plan
from tests.inference.models.onnx.test_onnx import in_torch
from tests.inference.onnx_packages import graph, write_onnx_package
from wsi.errors import ModelError


def loaded(folder):
    return load_model(read_package(folder), folder, "cpu")


def test_a_slide_through_the_pipeline_equals_torch_for_any_shards(tmp_path):
    reader = open_path(small_slide(tmp_path))
    model = loaded(write_onnx_package(tmp_path / "small", batch=8))
    plans = [whole_plan(reader, card=model.card, shard_tiles=shard_tiles) for shard_tiles in (None, 20, 7)]
    tables = [run_all(plan, reader, model=model).scores for plan in plans]
    np.testing.assert_allclose(tables[0], in_torch(boxes(plans[0], reader)), atol=1e-6)
    assert tables[0].tobytes() == tables[1].tobytes() == tables[2].tobytes()


def test_weights_beside_the_graph_are_part_of_the_package_and_its_digest(tmp_path):
    model = graph()
    folder = write_onnx_package(tmp_path / "small", model)
    alone = read_package(folder)
    tensor = model.graph.initializer[0]
    (folder / "model.onnx.data").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="model.onnx.data")
    write_onnx_package(folder, model)
    beside = read_package(folder)
    assert beside.files == ("card.json", "model.onnx", "model.onnx.data")
    assert beside.digest != alone.digest
    assert load_model(beside, folder, "cpu").card == beside


def test_golden_tiles_are_reproduced_before_the_model_is_ready(tmp_path):
    folder = write_onnx_package(tmp_path / "small", golden="golden.npz")
    tiles = np.random.default_rng(0).integers(0, 256, (4, 256, 256, 3), np.uint8)
    np.savez(folder / "golden.npz", tiles=tiles, scores=in_torch(tiles))
    assert loaded(folder).card.kind == "onnx"
    np.savez(folder / "golden.npz", tiles=tiles, scores=1 - in_torch(tiles))
    with pytest.raises(ModelError, match="golden tiles"):
        loaded(folder)


def test_a_network_that_does_not_fit_its_card_is_found_at_loading(tmp_path):
    with pytest.raises(ModelError, match="gives 3 values a tile; its card names 2 columns"):
        loaded(write_onnx_package(tmp_path / "three", graph(3)))
