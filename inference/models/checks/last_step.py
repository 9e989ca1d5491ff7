"""The activation that a network itself ends with, read from its graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from wsi.records.model_card import Activation

_ACTIVATIONS: Final[Mapping[str, Activation]] = MappingProxyType(
    {"aten::softmax": Activation.SOFTMAX, "aten::sigmoid": Activation.SIGMOID, "aten::sigmoid_": Activation.SIGMOID}
)
#: Steps that change no value.
_SHAPING: Final = frozenset(
    f"aten::{name}"
    for name in ("contiguous", "flatten", "float", "reshape", "squeeze", "to", "type_as", "unsqueeze", "view")
)


def find_last_step(module: torch.nn.Module) -> Activation | None:
    """Return softmax or sigmoid if a TorchScript network ends with it, else None."""
    if not isinstance(module, torch.jit.ScriptModule):
        return None
    graph: Any = module.inlined_graph
    node = next(graph.outputs()).node()
    while node.kind() in _SHAPING:
        node = next(node.inputs()).node()
    return _ACTIVATIONS.get(node.kind())
