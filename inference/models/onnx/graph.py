"""Checks the references of an ONNX file to the outside, before ONNX Runtime sees the file. It is data and no code, but
its weights may be in other files, which it names by any path, and a shared library may bring its operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from wsi.errors import ModelError
from wsi.records.model_card import Activation

#: A file of Protocol Buffers cannot be larger. Larger weights are in a file next to the graph.
MAX_GRAPH_BYTES = 2**31 - 1
_ACTIVATIONS = {"Softmax": Activation.SOFTMAX, "Sigmoid": Activation.SIGMOID}
#: Steps that change no value.
_SHAPING = frozenset({"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
#: Domains of the operators that the standard defines: https://onnx.ai/onnx/operators/
STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})


def check_graph(path: Path, data_name: str) -> onnx.ModelProto:
    """Return the parsed graph. Weights may be in the file `data_name` next to `path`, and nowhere else. Raises
    ModelError for a file that is not ONNX, operators that are neither standard nor functions of the file itself, and
    weights that are elsewhere or pass the end of their file."""
    model = _read_graph(path)
    own = {(function.domain, function.name) for function in model.functions}
    for node in _nodes(model):
        if node.domain not in STANDARD and (node.domain, node.op_type) not in own:
            raise ModelError(
                f"The network holds the operator {node.domain}.{node.op_type}, which is not in the ONNX standard: it "
                "is refused."
            )
    for tensor in _tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _check_external(tensor, path.parent, data_name)
    return model


def find_last_step(model: onnx.ModelProto) -> Activation | None:
    """Return softmax or sigmoid if the network itself ends with it, else None."""
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    node = makers.get(graph.output[0].name) if graph.output else None
    while node is not None and node.op_type in _SHAPING:
        node = makers.get(node.input[0])
    return _ACTIVATIONS.get(node.op_type) if node is not None else None


def read_sizes(path: Path) -> tuple[int | None, int | None]:
    """Return the side of the network's input in px and the columns of its output; None for one that is not fixed.
    Raises ModelError."""
    graph = _read_graph(path).graph
    held = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in held]
    sides = [[axis.dim_value for axis in value.type.tensor_type.shape.dim] for value in (*inputs, *graph.output)]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise ModelError(f"The network has {len(inputs)} inputs and {len(graph.output)} outputs; a model has one each.")
    taken, given = sides
    columns = math.prod(given[1:]) if len(given) > 1 and all(given[1:]) else None
    return (taken[-1] or None if len(taken) == 4 else None), columns


def _read_graph(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise ModelError(f"The model package has no file {path.name}.")
    if path.stat().st_size > MAX_GRAPH_BYTES:
        raise ModelError(f"{path.name} is larger than 2 GiB, which no ONNX file can be.")
    try:
        model = onnx.ModelProto.FromString(path.read_bytes())
    except DecodeError as error:
        raise ModelError(f"{path.name} is not an ONNX file, or it is damaged.") from error
    if not model.graph.node:
        raise ModelError(f"{path.name} holds no network.")
    return model


def _attributes(model: onnx.ModelProto) -> Iterator[onnx.AttributeProto]:
    for function in model.functions:
        yield from function.attribute_proto
    for node in _nodes(model):
        yield from node.attribute


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield all nodes, including those of functions, branches and loops."""
    waiting = [model.graph.node, *(function.node for function in model.functions)]
    while waiting:
        for node in waiting.pop():
            yield node
            waiting += [graph.node for attribute in node.attribute for graph in _graphs(attribute)]


def _graphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    sparse: list[onnx.SparseTensorProto] = []
    graphs = [model.graph]
    for attribute in _attributes(model):
        graphs += _graphs(attribute)
        yield from (attribute.t, *attribute.tensors)  # unset, it is an empty tensor
        sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
    for graph in graphs:
        yield from graph.initializer
        sparse += graph.sparse_initializer
    for each in sparse:
        yield from (each.values, each.indices)


def _check_external(tensor: onnx.TensorProto, folder: Path, data_name: str) -> None:
    said = {entry.key: entry.value for entry in tensor.external_data}
    if said.get("location") != data_name:
        raise ModelError(f"The network keeps weights outside its package: only {data_name} beside it is read.")
    data = folder / data_name
    if not data.is_file() or data.is_symlink():
        raise ModelError(f"The model package has no file {data_name}, where the network keeps weights.")
    try:
        offset, length = int(said.get("offset", 0)), int(said.get("length", 0))
    except ValueError as error:
        raise ModelError("The network says in no number where its weights lie: it is refused.") from error
    if min(offset, length) < 0 or offset + length > data.stat().st_size:
        raise ModelError(f"{data_name} ends before the weights that the network looks for: copy or download it again.")
