"""Writes the trained network as ONNX, with each normalisation folded into the convolution before it."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from inference.models.dense.unet import UNet

#: Of all operators used here, and the file format that goes with it, as of `inference.models.onnx.input`.
_OPSET, _IR = 18, 10


class GraphWriter:
    """Collects the nodes and weights of a graph, whose values are numbered in their order."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def add(self, kind: str, inputs: list[str], **attributes: object) -> str:
        """Add a node, and return the name of its output."""
        name = f"value {len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def hold(self, value: NDArray[np.generic]) -> str:
        """Add a constant, and return its name."""
        name = f"weights {len(self.tensors) + 1}"
        self.tensors.append(numpy_helper.from_array(value, name))
        return name

    def write_convolution(self, planes: str, convolution: nn.Conv2d, norm: nn.BatchNorm2d | None = None) -> str:
        weight, bias = merge_norm(convolution, norm)
        side = convolution.kernel_size[0]
        taken = [planes, self.hold(weight), self.hold(bias)]
        return self.add("Conv", taken, kernel_shape=[side, side], pads=[side // 2] * 4)

    def add_pair(self, planes: str, pair: nn.Sequential) -> str:
        first, first_norm, _, second, second_norm, _ = pair
        for convolution, norm in ((first, first_norm), (second, second_norm)):
            assert isinstance(convolution, nn.Conv2d)
            assert isinstance(norm, nn.BatchNorm2d)
            planes = self.add("Relu", [self.write_convolution(planes, convolution, norm)])
        return planes


def make_graph(network: UNet) -> onnx.ModelProto:
    """Return the graph from `planes` [batch, 3, height, width] to `logits` [batch, maps, height, width]."""
    graph, planes, kept = GraphWriter(), "planes", list[str]()
    for level, pair in enumerate(network.down):
        assert isinstance(pair, nn.Sequential)
        taken = graph.add("MaxPool", [planes], kernel_shape=[2, 2], strides=[2, 2]) if level else planes
        planes = graph.add_pair(taken, pair)
        kept.append(planes)
    kept.pop()
    scales = graph.hold(np.array([1, 1, 2, 2], np.float32))
    for pair in network.up:
        assert isinstance(pair, nn.Sequential)
        nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        large = graph.add("Resize", [planes, "", scales], **nearest)
        planes = graph.add_pair(graph.add("Concat", [large, kept.pop()], axis=1), pair)
    graph.write_convolution(planes, network.last)
    graph.nodes[-1].output[0] = "logits"
    maps = network.last.out_channels
    made = helper.make_graph(
        graph.nodes,
        "tessera-unet",
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", maps, "height", "width"])],
        graph.tensors,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    onnx.checker.check_model(model, full_check=True)
    return model


def merge_norm(convolution: nn.Conv2d, norm: nn.BatchNorm2d | None) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights and bias of the convolution with the normalisation after it, calculated in fp64."""
    weight = convolution.weight.detach().double().numpy()
    if norm is None:
        assert convolution.bias is not None
        return weight.astype(np.float32), convolution.bias.detach().numpy()
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale, shift = (value.detach().double().numpy() for value in (norm.weight, norm.bias))
    scale = scale / np.sqrt(norm.running_var.double().numpy() + norm.eps)
    bias = shift - norm.running_mean.double().numpy() * scale
    return (weight * scale[:, None, None, None]).astype(np.float32), bias.astype(np.float32)
