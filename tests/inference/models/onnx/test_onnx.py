from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from inference.models.activations import apply_activation
from inference.models.onnx.graph import check_graph
from inference.models.onnx.model import OnnxModel
from inference.models.onnx.network import OnnxNetwork
from tests.inference.onnx_packages import MEAN, SIDE, STD, graph, write_onnx_package
from tests.inference.packages import network
from wsi.errors import ModelError, UnsuitableDevice
from wsi.models.package_files import ONNX_DATA
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, Channels, ModelCard, OutputColumn, Resize
from wsi.slide.resample import resize_as_pillow

NUMERICS = Numerics(version="1", precision="fp32", batch=8, threads=1)


def card_of(classes: int = 2, **changes) -> ModelCard:
    card = ModelCard(
        name="small",
        version="1",
        digest="0" * 64,
        kind="onnx",
        tile_px=256,
        mpp=0.5,
        input_px=SIDE,
        columns=tuple(OutputColumn(name=f"prob_{number}") for number in range(classes)),
        activation=Activation.SOFTMAX if classes > 1 else Activation.SIGMOID,
        mean=MEAN,
        std=STD,
        batch=8,
    )
    return replace(card, **changes)


def loaded(folder: Path, model: onnx.ModelProto | None = None, classes: int = 2, **changes) -> OnnxModel:
    return OnnxModel(card_of(classes, **changes), write_onnx_package(folder, model, classes), "cpu")


def resized(pixels):
    """By torch's own antialiased filter, which is PIL's."""
    planes = torch.from_numpy(pixels).permute(0, 3, 1, 2).float()
    small = torch.nn.functional.interpolate(planes, (SIDE, SIDE), mode="bilinear", antialias=True)
    return small.permute(0, 2, 3, 1).numpy()


def in_torch(pixels, classes=2):
    planes = torch.from_numpy(resized(pixels)).permute(0, 3, 1, 2) / 255
    normal = (planes - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)
    with torch.inference_mode():
        logits = network(classes)(normal)
    return (torch.softmax(logits, 1) if classes > 1 else torch.sigmoid(logits)).numpy()


@pytest.fixture(scope="module")
def pixels():
    return np.random.default_rng(0).integers(0, 256, (8, 256, 256, 3), np.uint8)


@pytest.mark.parametrize("classes", [1, 2, 6])
def test_a_package_equals_torch(tmp_path, pixels, classes):
    scores = loaded(tmp_path, classes=classes).infer(pixels, NUMERICS)
    assert scores.shape == (8, classes)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, in_torch(pixels, classes), atol=1e-6)


def test_scores_of_a_thousand_tiles_are_those_of_torch_and_of_plain_onnx_runtime_within_the_tolerance(tmp_path):
    """Tiles of random colours with structure of random size, so that classes change from tile to tile."""
    random = np.random.default_rng(1)
    coarse = random.integers(0, 256, (1024, 4, 4, 3), np.uint8)
    tiles = coarse.repeat(24, axis=1).repeat(24, axis=2) ^ random.integers(0, 32, (1024, 96, 96, 3), np.uint8)
    model = loaded(tmp_path)
    ours = np.concatenate([model.infer(tiles[start : start + 8], NUMERICS) for start in range(0, 1024, 8)])
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    normal = (resized(tiles) / 255 - np.float32(MEAN)) / np.float32(STD)
    plain = apply_activation(
        session.run(None, {"x": normal.transpose(0, 3, 1, 2).astype(np.float32)})[0], Activation.SOFTMAX
    )
    assert 100 < ours.argmax(1).sum() < 924
    for theirs in (in_torch(tiles), plain):
        difference = np.abs(ours - theirs)
        assert difference.max() <= 5e-3
        assert difference.mean() <= 5e-4
        assert (ours.argmax(1) != theirs.argmax(1)).mean() <= 1e-3


def test_a_row_depends_on_its_own_pixels_alone_to_the_last_bit(tmp_path, pixels):
    model = loaded(tmp_path)
    first = model.infer(pixels, NUMERICS)
    assert {model.infer(pixels, NUMERICS).tobytes() for _ in range(3)} == {first.tobytes()}
    assert model.infer(pixels[::-1].copy(), NUMERICS)[::-1].tobytes() == first.tobytes()
    others = pixels.copy()
    others[1:] = 0
    assert model.infer(others, NUMERICS)[0].tobytes() == first[0].tobytes()


@pytest.mark.parametrize(("rows", "count"), [(1, 8), (4, 8), (4, 5)])
def test_a_network_of_a_fixed_batch_gives_the_scores_of_one_that_takes_any(tmp_path, pixels, rows, count):
    fixed = loaded(tmp_path / "fixed", graph(batch=rows)).infer(pixels[:count], NUMERICS)
    anyhow = loaded(tmp_path / "any").infer(pixels[:count], NUMERICS)
    np.testing.assert_allclose(fixed, anyhow, atol=1e-6)


def test_a_fixed_batch_that_does_not_part_the_cards_is_found_at_loading(tmp_path):
    with pytest.raises(ModelError, match="batches of 3 tiles"):
        loaded(tmp_path, graph(batch=3))


def test_boxes_that_are_not_square_are_resized_once_along_each_axis(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (2, 320, 250, 3), np.uint8)
    np.testing.assert_allclose(loaded(tmp_path).infer(pixels, NUMERICS), in_torch(pixels), atol=1e-6)


def test_a_card_that_resizes_as_pillow_gets_the_scores_of_pillows_picture(tmp_path, pixels):
    model = loaded(tmp_path / "net", resize=Resize.PILLOW_BILINEAR)
    small = resize_as_pillow(pixels, SIDE, Resize.PILLOW_BILINEAR)
    scores = model.infer(pixels, NUMERICS)
    np.testing.assert_array_equal(scores, loaded(tmp_path / "same").infer(small, NUMERICS))
    assert np.abs(scores - loaded(tmp_path / "exact").infer(pixels, NUMERICS)).max() > 1e-6


def test_a_network_that_takes_bgr_gets_the_turned_picture(tmp_path, pixels):
    turned = np.ascontiguousarray(pixels[..., ::-1])
    scores = loaded(tmp_path, channels=Channels.BGR).infer(turned, NUMERICS)
    own_order = loaded(tmp_path, mean=MEAN, std=STD).infer(pixels, NUMERICS)
    np.testing.assert_allclose(scores, own_order, atol=1e-6)


def test_more_threads_change_no_score_beyond_rounding(tmp_path, pixels):
    model = loaded(tmp_path)
    two = model.infer(pixels, replace(NUMERICS, threads=2))
    np.testing.assert_allclose(two, model.infer(pixels, NUMERICS), atol=1e-6)


def test_logits_of_any_size_have_an_activation():
    logits = np.array([[-1e4, 1e4], [1e4, -1e4], [0, 0]], np.float32)
    np.testing.assert_allclose(apply_activation(logits, Activation.SOFTMAX), [[0, 1], [1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(apply_activation(logits, Activation.SIGMOID), [[0, 1], [1, 0], [0.5, 0.5]])
    assert apply_activation(logits, Activation.NONE) is logits


def test_a_network_of_another_input_is_found_at_loading(tmp_path):
    with pytest.raises(ModelError, match="any x 3 x 32 x 32; its card asks for any x 3 x 64 x 64"):
        loaded(tmp_path, graph(side=32))
    assert loaded(tmp_path, graph(side="side")).card.input_px == SIDE


def test_a_network_of_other_columns_is_found_at_loading(tmp_path):
    with pytest.raises(ModelError, match="gives 3 values a tile; its card names 2 columns"):
        loaded(tmp_path, graph(3))


def test_a_network_of_two_outputs_or_of_another_type_is_found_at_loading(tmp_path):
    two = graph()
    two.graph.output.append(helper.make_tensor_value_info("f", TensorProto.FLOAT, ["n", 2]))
    with pytest.raises(ModelError, match="2 outputs"):
        loaded(tmp_path, two)
    halves = graph(nodes=[helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16)])
    halves.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    with pytest.raises(ModelError, match=r"gives tensor\(float16\)"):
        loaded(tmp_path, halves)


def test_a_network_that_answers_for_one_tile_alone_is_found_at_loading(tmp_path):
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], keepdims=0)]
    with pytest.raises(ModelError, match=r"gives \[\] for 3 tiles"):
        loaded(tmp_path, graph(nodes=nodes, output=[]))


def custom_node() -> onnx.NodeProto:
    return helper.make_node("Mul", ["f", "scale"], ["y"], domain="ai.evil")


def test_operators_that_are_not_standard_are_refused_wherever_they_stand(tmp_path):
    model = graph()
    model.graph.node[-1].domain = "ai.evil"
    with pytest.raises(ModelError, match=r"ai\.evil\.Mul"):
        loaded(tmp_path, model)
    branch = helper.make_graph([custom_node()], "branch", [], [helper.make_tensor_value_info("y", 1, None)])
    inside = graph()
    inside.graph.node[-1].CopyFrom(helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch))
    with pytest.raises(ModelError, match=r"ai\.evil\.Mul"):
        loaded(tmp_path, inside)
    function = graph()
    function.functions.append(
        helper.make_function("own", "Scale", ["f"], ["y"], [custom_node()], [helper.make_opsetid("", 18)])
    )
    with pytest.raises(ModelError, match=r"ai\.evil\.Mul"):
        loaded(tmp_path, function)


def test_a_function_that_the_file_itself_defines_is_taken(tmp_path, pixels):
    model = graph()
    model.graph.node[-1].domain = "own"
    model.graph.node[-1].op_type = "Scale"
    model.opset_import.append(helper.make_opsetid("own", 1))
    multiply = helper.make_node("Mul", ["a", "b"], ["y"])
    model.functions.append(
        helper.make_function("own", "Scale", ["a", "b"], ["y"], [multiply], [helper.make_opsetid("", 18)])
    )
    np.testing.assert_allclose(loaded(tmp_path, model).infer(pixels, NUMERICS), in_torch(pixels), atol=1e-6)


def external(model: onnx.ModelProto, location: str, **said: int) -> onnx.ModelProto:
    """The first convolution's weights, kept elsewhere."""
    tensor = model.graph.initializer[0]
    entries = {"location": location, "offset": 0, "length": len(tensor.raw_data), **said}
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return model


def test_weights_in_the_packages_own_data_file_are_read(tmp_path, pixels):
    model = graph()
    (tmp_path / ONNX_DATA).write_bytes(model.graph.initializer[0].raw_data)
    scores = loaded(tmp_path, external(model, ONNX_DATA)).infer(pixels, NUMERICS)
    np.testing.assert_allclose(scores, in_torch(pixels), atol=1e-6)


@pytest.mark.parametrize("location", ["/etc/hostname", "../model.onnx.data", "model.onnx", "sub/model.onnx.data", ""])
def test_weights_outside_the_package_are_refused(tmp_path, location):
    (tmp_path / "model.onnx.data").write_bytes(bytes(4096))
    with pytest.raises(ModelError, match="outside its package"):
        loaded(tmp_path / "package", external(graph(), location))


def test_a_data_file_that_is_missing_short_or_a_link_is_named(tmp_path):
    model = external(graph(), ONNX_DATA)
    with pytest.raises(ModelError, match=f"no file {ONNX_DATA}"):
        loaded(tmp_path, model)
    (tmp_path / ONNX_DATA).write_bytes(bytes(10))
    with pytest.raises(ModelError, match="ends before the weights"):
        loaded(tmp_path, model)
    (tmp_path / "elsewhere").write_bytes(bytes(4096))
    (tmp_path / ONNX_DATA).unlink()
    (tmp_path / ONNX_DATA).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match=f"no file {ONNX_DATA}"):
        loaded(tmp_path, model)


@pytest.mark.parametrize("said", [{"offset": -4}, {"length": 2**40}, {"offset": "0x10"}])
def test_weights_at_an_impossible_place_are_refused(tmp_path, said):
    (tmp_path / ONNX_DATA).write_bytes(bytes(4096))
    with pytest.raises(ModelError, match="weights"):
        loaded(tmp_path, external(graph(), ONNX_DATA, **said))


def test_weights_that_claim_more_than_their_bytes_are_refused_and_nothing_is_allocated_for_them(tmp_path):
    inside = graph()
    inside.graph.initializer[0].dims[:] = [2**20, 2**20, 3, 3]
    with pytest.raises(ModelError, match="damaged"):
        loaded(tmp_path, inside)
    outside = external(graph(), ONNX_DATA)
    outside.graph.initializer[0].dims[:] = [2**20, 2**20, 3, 3]
    (tmp_path / ONNX_DATA).write_bytes(bytes(4096))
    with pytest.raises(ModelError, match="damaged"):
        loaded(tmp_path, outside)


def test_a_network_that_needs_more_memory_than_there_is_asks_for_another_machine(tmp_path):
    fill = [
        helper.make_node("ConstantOfShape", ["shape"], ["large"]),
        helper.make_node("ReduceMean", ["large"], ["scale"], keepdims=0),
    ]
    model = graph()
    model = graph(nodes=[*fill, *model.graph.node])
    del model.graph.initializer[-1]
    model.graph.initializer.append(numpy_helper.from_array(np.array([2**40]), "shape"))
    with pytest.raises(UnsuitableDevice, match="memory"):
        loaded(tmp_path, model)


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_other_batch_sizes_give_scores_within_the_tolerance(tmp_path, batch):
    tiles = np.random.default_rng(2).integers(0, 256, (64, 96, 96, 3), np.uint8)
    model = loaded(tmp_path)
    others = np.concatenate([model.infer(tiles[start : start + batch], NUMERICS) for start in range(0, 64, batch)])
    usual = np.concatenate([model.infer(tiles[start : start + 8], NUMERICS) for start in range(0, 64, 8)])
    np.testing.assert_allclose(others, usual, atol=1e-6)


def test_weights_of_a_constant_or_a_sparse_tensor_may_not_lie_outside_either(tmp_path):
    tensor = external(graph(), "/etc/hostname").graph.initializer[0]
    constant = graph()
    constant.graph.node.append(helper.make_node("Constant", [], ["z"], value=tensor))
    sparse = graph()
    sparse.graph.sparse_initializer.add().values.CopyFrom(tensor)
    for number, model in enumerate((constant, sparse)):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(model.SerializeToString())
        with pytest.raises(ModelError, match="outside its package"):
            check_graph(path, ONNX_DATA)


@pytest.mark.parametrize("data", [b"", b"<html>", bytes(100)])
def test_a_file_that_is_no_network_is_named(tmp_path, data):
    write_onnx_package(tmp_path)
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.onnx"):
        OnnxModel(card_of(), tmp_path, "cpu")


def test_a_missing_graph_an_unknown_operator_and_a_newer_opset_are_named(tmp_path):
    with pytest.raises(ModelError, match=r"no file model\.onnx"):
        OnnxModel(card_of(), tmp_path, "cpu")
    unknown = graph()
    unknown.graph.node[-1].op_type = "Multiply"
    newer = graph()
    newer.opset_import[0].version = 999
    for model in (unknown, newer):
        with pytest.raises(ModelError, match="damaged, or made for a newer ONNX Runtime"):
            loaded(tmp_path, model)


def test_devices_and_precisions_that_are_not_there_are_named(tmp_path, pixels):
    model = loaded(tmp_path)
    with pytest.raises(ModelError, match="fp16"):
        model.infer(pixels, replace(NUMERICS, precision="fp16"))
    with pytest.raises(ModelError, match="bf16"):
        loaded(tmp_path, precision="bf16")
    for device in ("abacus", "cuda:one"):
        with pytest.raises(ModelError, match=device):
            OnnxNetwork(tmp_path / "model.onnx", device)
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        for device in ("cuda", "cuda:1"):
            with pytest.raises(ModelError, match="onnxruntime-gpu"):
                OnnxNetwork(tmp_path / "model.onnx", device)
