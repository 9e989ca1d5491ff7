"""Reads weights as people publish them: finds the file in a folder, and the tensors in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from inference.models.architectures import read_tensors
from inference.models.making.exported import read_exported
from inference.models.making.pickles import collect_tensors, read_pickle
from inference.models.weights_file import INDEX, SUFFIXES
from wsi.errors import ModelError

#: Names of weights in a folder, the surest first. If a folder holds several, the first counts: publishers ship the same
#: weights as safetensors and as a pickle.
_NAMED: Final = (
    "model.safetensors",
    "model.safetensors.index.json",
    "open_clip_model.safetensors",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "open_clip_pytorch_model.bin",
    "models/model.pt",  # a MONAI bundle
)
#: Where training scripts keep the weights in what they save. An average of the weights comes before the weights.
_KEPT_UNDER: Final = (
    "state_dict",
    "model_state_dict",
    "model_ema",
    "ema",
    "teacher",
    "model",
    "module",
    "net",
    "network",
    "student",
    "params",
    "weights",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    path: Path  #: of the file, or of the index of several
    tensors: dict[str, torch.Tensor]
    notes: tuple[str, ...]  #: what was taken and what was not, a sentence each


def find_weights(source: Path) -> Path:
    """Return the file of weights: `source` itself, or the one in the folder `source`. Raises ModelError if there is
    none, or if several may be meant."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise ModelError(f"There is no file or folder {source.name}.")
    for name in _NAMED:
        if (source / name).is_file():
            return source / name
    found = sorted(path for path in source.iterdir() if path.suffix in SUFFIXES and path.is_file())
    if not found:
        raise ModelError(f"The folder holds no weights ({', '.join(SUFFIXES)}).")
    if len(found) > 1:
        raise ModelError(
            f"The folder holds several files of weights: name one of {', '.join(one.name for one in found)}."
        )
    return found[0]


def read_weights(path: Path) -> Weights:
    """Return the tensors of a file in any supported format. Raises ModelError."""
    if path.name.endswith(INDEX):
        parts = _parts(path)
        tensors: dict[str, torch.Tensor] = {}
        for part in parts:
            tensors |= read_weights(part).tensors
        return Weights(path=path, tensors=tensors, notes=(f"The weights lie in {len(parts)} files.",))
    if path.suffix == ".safetensors":
        return Weights(path=path, tensors=read_tensors(path), notes=())
    if path.suffix == ".pt2":
        return Weights(path=path, tensors=read_exported(path), notes=())
    value, notes = read_pickle(path), list[str]()
    while (inner := _find_entry(value)) is not None:
        name, value = inner
        notes.append(f"The weights are those under {name}.")
    tensors = collect_tensors(value) or _tensors(value)
    if not tensors:
        raise ModelError(f"{path.name} holds no weights.")
    return Weights(path=path, tensors=tensors, notes=tuple(notes))


def _find_entry(value: Any) -> tuple[str, Any] | None:
    """Return (name, value) of the entry that holds a checkpoint's weights; None if there is none."""
    if not isinstance(value, Mapping) or any(isinstance(item, torch.Tensor) for item in value.values()):
        return None
    for name in _KEPT_UNDER:
        inner = value.get(name)
        if inner is not None and (collect_tensors(inner) or _tensors(inner) or _find_entry(inner)):
            return name, inner
    return None


def _tensors(value: Any) -> dict[str, torch.Tensor]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name): item.detach() for name, item in value.items() if isinstance(item, torch.Tensor)}


def _parts(index: Path) -> list[Path]:
    try:
        listed = set(json.loads(index.read_bytes())["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelError(f"{index.name} does not list the files of the weights.") from error
    parts = [index.parent / str(name) for name in sorted(listed)]
    missing = [part.name for part in parts if part.parent != index.parent or not part.is_file()]
    if missing:
        raise ModelError(f"The weights are in several files, of which {', '.join(missing)} is missing.")
    return parts
