"""Reads tensors from files that `torch.save` wrote, without running any code in them.

A pickle names classes and functions, and loading calls them. torch's reader with `weights_only` calls only those that
tensors need. Checkpoints of Lightning and of whole modules name more: torch gets an empty class of ours for each such
name, so that its attributes are read and none of its code runs.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

from wsi.errors import ModelError

_DEEPEST: Final = 64  #: modules in modules
#: The name in torch's message about what it would not call.
_NAMED: Final = re.compile(r"(?:GLOBAL|function) <?([\w.]+)")
_MOST_NAMES: Final = 2_000  #: of classes that a checkpoint names
#: What torch's reader raises for a pickle that names more than it allows, or that is damaged.
_REFUSED: Final = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, LookupError, AttributeError, TypeError)


class _Inert:
    """A stand-in for a class that a checkpoint names."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update({str(name): value for name, value in state.items()})

    def append(self, _: Any) -> None: ...

    def extend(self, _: Any) -> None: ...

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def __hash__(self) -> int:
        return id(self)


def read_pickle(path: Path) -> Any:
    """Return the file's content; objects other than tensors and plain values are empty. Raises ModelError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of storages of old torch versions
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except (
            pickle.UnpicklingError,
            RuntimeError,
            EOFError,
            ValueError,
            KeyError,
            AttributeError,
            TypeError,
        ) as error:
            first = error
        try:
            with safe_globals(_inert_names(path)):
                return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # whatever a damaged or hostile pickle makes torch's reader raise
            named = _NAMED.search(f"{first}\n{error}")
            why = f"it is damaged, or names {named[1]}" if named else "it is damaged"
            raise ModelError(
                f"{path.name} cannot be read without running code from it: {why}. Save the weights alone, with "
                "torch.save(model.state_dict(), …) or as safetensors."
            ) from error


def collect_tensors(value: Any) -> dict[str, torch.Tensor]:
    """Return the parameters and buffers of a pickled torch.nn.Module, by the names of its state dict; an empty dict
    for any other value."""
    found: dict[str, torch.Tensor] = {}

    def gather(module: Any, prefix: str, depth: int) -> None:
        held = getattr(module, "__dict__", {})
        for kind in ("_parameters", "_buffers"):
            for name, tensor in _items(held.get(kind)):
                if isinstance(tensor, torch.Tensor):
                    found[f"{prefix}{name}"] = tensor.detach()
        for name, inner in _items(held.get("_modules")):
            if depth < _DEEPEST:
                gather(inner, f"{prefix}{name}.", depth + 1)

    gather(value, "", 0)
    return found


def _items(value: Any) -> list[tuple[str, Any]]:
    return [(str(name), item) for name, item in value.items()] if isinstance(value, Mapping) else []


def _inert_names(path: Path) -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    names = get_unsafe_globals_in_checkpoint(path)
    if len(names) > _MOST_NAMES:
        raise ModelError(f"{path.name} names {len(names):,} classes: it is no checkpoint.")
    return [(type(name.rpartition(".")[2], (_Inert,), {}), name) for name in names]
