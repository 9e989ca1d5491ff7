"""Packages whose networks give maps: what is loaded, what comes out, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from onnx import helper

from inference.models.checks.map_check import compare_maps, compute_maps
from inference.models.loaded import DenseModel, QueueingMaps
from inference.models.package import read_package
from inference.models.registry import load_guarded, load_model
from models.nuclei.exporting import make_graph
from tests.inference.dense_packages import AS_ONNX, WIDTHS, make_unet, write_dense_package
from tests.inference.packages_with_card import tiles
from wsi.errors import ModelError
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, ModelCard, OutputKind
from wsi.records.outputs import CoreRule, ObjectOutput

NUMERICS = Numerics(version="1", precision="fp32", batch=4, threads=1)
KINDS = pytest.mark.parametrize("kind", [{}, AS_ONNX], ids=["safetensors", "onnx"])


def loaded(folder):
    return load_guarded(read_package(folder), folder, "cpu")


def plain(network, pixels):
    """What torch says of the maps, without anything of ours."""
    planes = (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
    with torch.inference_mode():
        return torch.sigmoid(network(planes)).numpy()


def test_a_card_says_how_objects_are_found(tmp_path):
    card = read_package(write_dense_package(tmp_path / "net", objects={"largest_px": None, "largest_um": 5.2}))
    assert (card.output, card.activation, card.columns, card.width) == (OutputKind.DETECTION, Activation.SIGMOID, (), 0)
    rule = CoreRule(inside=128, core=140, least_core=6, reach=8)
    assert card.objects == ObjectOutput(classes=("Nucleus",), rule=rule, stride=4, margin=22, largest=11)
    assert ModelCard.from_json(card.as_json()) == card


@KINDS
def test_maps_are_the_networks_probabilities_in_whole_parts_of_255(tmp_path, kind):
    model, pixels = loaded(write_dense_package(tmp_path / "net", **kind)), tiles(3, 128)
    assert isinstance(model, DenseModel)
    maps = model.infer_maps(pixels, NUMERICS)
    assert (maps.dtype, maps.shape) == (np.uint8, (3, 2, 128, 128))
    assert np.abs(maps - 255 * plain(make_unet(), pixels)).max() <= 0.501


@KINDS
def test_a_tiles_maps_do_not_depend_on_the_tiles_beside_it(tmp_path, kind):
    model, pixels = loaded(write_dense_package(tmp_path / "net", **kind)), tiles(4, 128)
    maps = model.infer_maps(pixels, NUMERICS)
    turned = model.infer_maps(np.ascontiguousarray(pixels[::-1]), NUMERICS)
    assert turned[::-1].tobytes() == maps.tobytes() == model.infer_maps(pixels, NUMERICS).tobytes()


@KINDS
def test_tiles_of_a_finer_level_are_shrunk_to_the_networks_side(tmp_path, kind):
    model = loaded(write_dense_package(tmp_path / "net", **kind))
    flat = np.full((1, 256, 256, 3), 90, np.uint8)
    assert (
        model.infer_maps(flat, NUMERICS).tobytes() == model.infer_maps(flat[:, :128, :128].copy(), NUMERICS).tobytes()
    )


def test_onnx_and_torch_give_the_same_maps(tmp_path):
    ours = loaded(write_dense_package(tmp_path / "torch"))
    other = loaded(write_dense_package(tmp_path / "onnx", **AS_ONNX))
    found = compare_maps(ours, other, tiles(3, 128))
    assert (found.tiles, found.top1_changes) == (3, 0)
    assert found.max_difference <= 1 / 255
    assert found.mean_difference < 1e-5


def test_several_classes_have_a_map_each(tmp_path):
    said = {"objects": {"classes": ["Lymphocyte", "Tumour", "Stroma"]}}
    arguments = {"widths": list(WIDTHS), "maps": 5}
    folder = write_dense_package(tmp_path / "net", make_unet(5), architecture_arguments=arguments, **said)
    assert compute_maps(loaded(folder), tiles(1, 128)).shape == (1, 5, 128, 128)


def test_a_model_of_maps_gives_no_scores(tmp_path):
    with pytest.raises(ModelError, match="gives maps in which objects are found, and no scores"):
        loaded(write_dense_package(tmp_path / "net")).infer(tiles(1, 128), NUMERICS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"objects": {"classes": ["A", "A"]}}, "objects names a class twice"),
        ({"objects": {"largest_um": 3.0}}, "objects must state largest_um or largest_px, and not both"),
        ({"objects": {"largest_px": None}}, "objects must state largest_um or largest_px"),
        ({"objects": {"inside": 0.5}}, "objects.inside must be a whole number"),
        ({"objects": {"core": 256}}, "objects.core"),
        ({"objects": {"margin": 12}}, "objects.margin is not known here; perhaps margin_px is meant"),
        ({"objects": {"stride_px": 3}}, "128 px, is no multiple of objects.stride_px, 3"),
        ({"objects": {"largest_px": 60}}, "holds nothing but its border of 96 px on each side"),
        ({"objects": {"reach": 0}}, "objects.reach is 0"),
        ({"columns": [{"name": "a"}]}, "columns does not belong to output detection"),
        ({"golden": "golden.npz"}, "golden does not belong to output detection"),
        ({"activation": "softmax"}, "activation of output detection must be sigmoid or none"),
        ({"objects": {"classes": ["A", "B"]}}, r"its card's 2 classes ask for 4 maps, \[2, 4, 128, 128\]"),
        ({"architecture": "tessera/vit"}, "tessera .* has no architecture vit; perhaps|tessera .* has no architecture"),
        ({"architecture_arguments": {"widths": 16, "maps": 2}}, "widths must be a list of 2 to 8 whole numbers"),
        ({"architecture_arguments": {"widths": [4, 6, 8]}}, "maps must be a whole number"),
        ({"architecture_arguments": {"widths": [4, 6, 8], "maps": 2, "depth": 3}}, "has depth; of tessera a card may"),
        ({"architecture_arguments": {"widths": [4, 6], "maps": 2}}, "do not fit the architecture"),
        ({"activation": "none"}, 'where its card says no activation.*write "sigmoid"'),
        ({**AS_ONNX, "precision": "fp16"}, "runs ONNX in fp32"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, changes, words):
    with pytest.raises(ModelError, match=words) as error:
        loaded(write_dense_package(tmp_path / "net", **changes))
    assert error.value.sentence.endswith(".")


def rewritten(folder, *nodes, last):
    """An ONNX package whose network ends with `nodes`, the last of which gives `last`."""
    write_dense_package(folder, **AS_ONNX)
    model = make_graph(make_unet())
    model.graph.node.extend(nodes)
    model.graph.output[0].name = last
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (helper.make_node("Transpose", ["logits"], ["y"], perm=[0, 2, 3, 1]), "its maps last: transpose its output to"),
        (helper.make_node("MaxPool", ["logits"], ["y"], kernel_shape=[2, 2], strides=[2, 2]), "maps of another side"),
        (helper.make_node("Sigmoid", ["logits"], ["y"]), "ends with a sigmoid and its card adds another one"),
        (helper.make_node("Log", ["logits"], ["y"]), "not numbers"),
        (helper.make_node("Sub", ["logits", "logits"], ["y"]), "gives the same values for every tile"),
    ],
)
def test_a_network_that_gives_something_else_is_refused_at_loading(tmp_path, node, words):
    with pytest.raises(ModelError, match=words):
        loaded(rewritten(tmp_path / "net", node, last="y"))


def test_values_that_are_not_numbers_end_a_batch(tmp_path):
    network = make_unet()
    model = load_model(read_package(write_dense_package(tmp_path / "net", network)), tmp_path / "net", "cpu")
    with torch.no_grad():
        next(iter(model._network._module.parameters())).fill_(float("inf"))
    with pytest.raises(ModelError, match="not numbers"):
        model.infer_maps(tiles(1, 128), NUMERICS)


@pytest.mark.gpu
def test_a_gpu_gives_the_maps_of_the_cpu(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    folder = write_dense_package(tmp_path / "net")
    card, pixels = read_package(folder), tiles(4, 128)
    here, there = (load_model(card, folder, device) for device in ("cpu", "cuda"))
    assert compare_maps(here, there, pixels).max_difference <= 1 / 255
    assert there.infer_maps(pixels, NUMERICS).tobytes() == there.infer_maps(pixels, NUMERICS).tobytes()


@pytest.mark.gpu
def test_batches_queued_on_a_gpu_give_the_maps_of_each_alone(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    folder = write_dense_package(tmp_path / "net")
    model = load_model(read_package(folder), folder, "cuda")
    assert isinstance(model, DenseModel)
    assert isinstance(model, QueueingMaps)
    batches = [np.ascontiguousarray(tiles(4, 128)[:, ::turn]) for turn in (1, -1, 1)]
    expected = [model.infer_maps(pixels, NUMERICS) for pixels in batches]
    found = [np.empty_like(maps) for maps in expected]
    flying = [model.start_maps(pixels, maps, NUMERICS) for pixels, maps in zip(batches, found, strict=True)]
    for each in flying:
        each.wait_for_maps()
        assert each.seconds > 0
    assert [maps.tobytes() for maps in found] == [maps.tobytes() for maps in expected]
