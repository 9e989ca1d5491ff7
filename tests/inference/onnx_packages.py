"""Small ONNX packages: the network of `tests.inference.packages`, written with the onnx package, and its card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.inference.packages import network

SIDE = 64
MEAN, STD = (0.7238, 0.5716, 0.6779), (0.112, 0.1459, 0.1089)


def graph(
    classes: int = 2,
    *,
    batch: int | str = "n",
    side: int | str = SIDE,
    scale: float = 3.0,
    nodes: Sequence[onnx.NodeProto] | None = None,
    output: Sequence[int | str] | None = None,
) -> onnx.ModelProto:
    """Two convolutions and a mean: [batch, 3, side, side] to [batch, classes] logits. `nodes` replace its own."""
    module = network(classes)
    weights = {name: value.detach().numpy() for name, value in module.named_parameters()}
    own = [
        helper.make_node("Conv", ["x", "first.weight", "first.bias"], ["a"], strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "second.weight", "second.bias"], ["c"], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("ReduceMean", ["d", "axes"], ["e"], keepdims=0),
        helper.make_node("Gemm", ["e", "last.weight", "last.bias"], ["f"], transB=1),
        helper.make_node("Mul", ["f", "scale"], ["y"]),
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    tensors += [numpy_helper.from_array(np.array([2, 3]), "axes")]
    tensors += [numpy_helper.from_array(np.array(scale, np.float32), "scale")]
    return helper.make_model(
        helper.make_graph(
            own if nodes is None else nodes,
            "small",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, side, side])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, output or [batch, classes])],
            tensors,
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=10,
    )


def card(classes: int = 2, **changes: Any) -> dict[str, Any]:
    columns = [{"name": f"prob_{number}"} for number in range(classes)]
    said = {
        "spec_version": "1.0",
        "kind": "onnx",
        "output": "classification",
        "activation": "softmax" if classes > 1 else "sigmoid",
        "columns": columns,
        "tile_px": 256,
        "mpp": 0.5,
        "input_px": SIDE,
        "mean": MEAN,
        "std": STD,
    }
    return {**said, **changes}


def write_onnx_package(folder: Path, model: onnx.ModelProto | None = None, classes: int = 2, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes((model or graph(classes)).SerializeToString())
    (folder / "card.json").write_text(json.dumps(card(classes, **changes)))
    return folder
