"""The preprocessing from pixels to a network's input, as a graph of its own: ONNX Runtime computes it with the plan's
threads and on the session's device. numpy's products take all cores, and were 40 times slower on a busy machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from wsi.records.model_card import Channels, ModelCard
from wsi.slide.resample import compute_antialias_weights

#: Of all operators used here, and the file format that goes with it: far older than the pinned runtime.
_OPSET, _IR = 18, 10
_BEFORE = ""  #: an input: the output of the step before


def make_input_graph(card: ModelCard, height: int, width: int) -> bytes:
    """Return the graph, serialised, from `pixels` [batch, height, width, 3] uint8 to `planes` [batch, 3, input_px,
    input_px] float32: antialiased along each axis that needs it, then normalised."""
    target = card.input_px
    tensors: dict[str, NDArray[np.generic]] = {
        "mean": np.array(card.mean, np.float32).reshape(1, 3, 1, 1) * np.float32(255),
        "std": np.array(card.std, np.float32).reshape(1, 3, 1, 1) * np.float32(255),
    }
    steps: list[tuple[str, list[str], dict[str, Any]]] = [
        ("Cast", [_BEFORE], {"to": TensorProto.FLOAT}),
        ("Transpose", [_BEFORE], {"perm": [0, 3, 1, 2]}),
    ]
    if height != target:
        tensors["rows"] = compute_antialias_weights(height, target)
        steps.append(("MatMul", ["rows", _BEFORE], {}))
    if width != target:
        tensors["columns"] = np.ascontiguousarray(compute_antialias_weights(width, target).T)
        steps.append(("MatMul", [_BEFORE, "columns"], {}))
    if card.channels is Channels.BGR:
        tensors["turned"] = np.array([2, 1, 0])
        steps.append(("Gather", [_BEFORE, "turned"], {"axis": 1}))
    steps += [("Sub", [_BEFORE, "mean"], {}), ("Div", [_BEFORE, "std"], {})]
    names = ["pixels", *(f"step {number}" for number in range(1, len(steps))), "planes"]
    nodes = [
        helper.make_node(kind, [before if name == _BEFORE else name for name in inputs], [after], **attributes)
        for (kind, inputs, attributes), before, after in zip(steps, names, names[1:], strict=False)
    ]
    graph = helper.make_graph(
        nodes,
        "input",
        [helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["batch", height, width, 3])],
        [helper.make_tensor_value_info("planes", TensorProto.FLOAT, ["batch", 3, target, target])],
        [numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    model: ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    return model.SerializeToString()
