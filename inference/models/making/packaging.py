"""Makes a package from weights: recognises them, adds the stated facts, writes the files, and tries the package."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file

from inference.models import wsinfer
from inference.models.architectures import build_network
from inference.models.making.hints import Hints, Triple, read_hints
from inference.models.making.matching import Match, match_architecture
from inference.models.making.reading import Weights, find_weights, read_weights
from inference.models.onnx.graph import read_sizes
from inference.models.package import WEIGHTS, read_package
from inference.models.registry import load_model
from inference.models.weights_file import is_torchscript
from wsi.errors import ModelError
from wsi.models.package_files import CARD, ONNX_DATA, TORCHSCRIPT
from wsi.records.model_card import Activation, ModelCard, OutputKind, Resize

_SHOWN: Final = 6  #: names of tensors in a sentence
_EMBEDDING_RANGE: Final = {"low": -1.0, "high": 1.0}  #: of a column that no one looks at


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """Statements of the person who makes the package; they win over the files."""

    architecture: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    mpp: float | None = None
    tile_px: int | None = None  #: `input_px` unless said
    input_px: int | None = None
    classes: tuple[str, ...] = ()
    activation: Activation | None = None
    output: OutputKind | None = None
    mean: Triple | None = None
    std: Triple | None = None
    resize: Resize | None = None
    licence: str | None = None
    batch: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    card: ModelCard
    notes: tuple[str, ...]  #: what was recognised, left out and assumed, a sentence each


class MissingFacts(ModelError):
    """Facts that no file states: `names` are fields of Stated."""

    def __init__(self, names: tuple[str, ...], columns: int | None) -> None:
        super().__init__(f"The files do not say {', '.join(names)}.")
        self.names = names
        self.columns = columns

    def __reduce__(self) -> tuple[type[MissingFacts], tuple[tuple[str, ...], int | None]]:
        return type(self), (self.names, self.columns)


def make_package(source: Path, folder: Path, stated: Stated) -> Made:
    """Write the package of the weights in `source`, a file or a folder, into `folder`, which is created. The package is
    loaded and tried before it appears there. Raises MissingFacts, and ModelError for weights that are not recognised or
    a network that is refused."""
    if folder.exists() and any(folder.iterdir()):
        raise ModelError(f"The folder {folder.name} is not empty: name a new one.")
    weights = find_weights(source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    try:
        made = fresh / folder.name
        made.mkdir()
        notes = _write(weights, made, stated)
        card = read_package(made)
        load_model(card, made, "cpu")
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Made(card=card, notes=notes)


def _write(weights: Path, folder: Path, stated: Stated) -> tuple[str, ...]:
    if weights.suffix == ".onnx":
        return _write_onnx(weights, folder, stated)
    if is_torchscript(weights):
        return _write_torchscript(weights, folder, stated)
    return _write_safetensors(read_weights(weights), folder, stated)


def _write_safetensors(weights: Weights, folder: Path, stated: Stated) -> tuple[str, ...]:
    hints = read_hints(weights.path)
    found = match_architecture(
        weights.tensors,
        architecture=stated.architecture or hints.architecture,
        arguments={**hints.arguments, **stated.arguments},
    )
    columns = int(found.candidate.arguments.get("num_classes", 0))
    card = _card(stated, hints, columns, found.candidate.arguments.get("img_size"))
    card |= {
        "kind": "safetensors",
        "architecture": found.candidate.architecture,
        "architecture_arguments": found.candidate.arguments,
    }
    if not columns:
        width = _width(found)
        card |= {
            "output": "regression",
            "activation": "none",
            "columns": [{"name": f"embedding_{number}", **_EMBEDDING_RANGE} for number in range(width)],
        }
    save_file({name: value.contiguous() for name, value in found.tensors.items()}, folder / WEIGHTS["safetensors"])
    _write_json(folder / CARD, card)
    return (*weights.notes, *_describe_match(found), *_describe_hints(hints))


def _write_onnx(weights: Path, folder: Path, stated: Stated) -> tuple[str, ...]:
    side, columns = read_sizes(weights)
    card = _card(stated, read_hints(weights), columns, side)
    shutil.copyfile(weights, folder / WEIGHTS["onnx"])
    if (data := weights.with_name(f"{weights.name}.data")).is_file():
        shutil.copyfile(data, folder / ONNX_DATA)
    _write_json(folder / CARD, {**card, "kind": "onnx"})
    return ("The network is ONNX and is taken as it is.",)


def _write_torchscript(weights: Path, folder: Path, stated: Stated) -> tuple[str, ...]:
    card = _card(stated, read_hints(weights), None, None)
    names = [column["name"].removeprefix("prob_") for column in card["columns"]]
    steps: list[dict[str, Any]] = [
        {"name": "ToTensor"},
        {"name": "Normalize", "arguments": {"mean": list(card["mean"]), "std": list(card["std"])}},
    ]
    if card["input_px"] != card["tile_px"]:
        steps.insert(0, {"name": "Resize", "arguments": {"size": card["input_px"]}})
    config = {
        "spec_version": "1.0",
        "architecture": weights.stem,
        "num_classes": len(names),
        "class_names": names,
        "patch_size_pixels": card["tile_px"],
        "spacing_um_px": card["mpp"],
        "transform": steps,
    }
    shutil.copyfile(weights, folder / TORCHSCRIPT)
    _write_json(folder / wsinfer.CONFIG, config)
    _write_json(folder / CARD, {"spec_version": "1.0", "activation": card["activation"]})
    return ("The network is TorchScript and is taken as it is, in WSInfer's layout.",)


def _card(stated: Stated, hints: Hints, columns: int | None, side: int | None) -> dict[str, Any]:
    """Return the fields of a card that every kind has. `columns`: of the network's output, 0 for an encoder, None if
    its file does not state them. Raises MissingFacts, and ModelError for more or fewer names than columns."""
    input_px = stated.input_px or side or hints.input_px or stated.tile_px
    mean, std = stated.mean or hints.mean, stated.std or hints.std
    classes = stated.classes or (hints.classes if len(hints.classes) == columns else ())
    needed = {
        "mpp": stated.mpp,
        "input_px": input_px,
        "normalise": mean and std,
        **({"classes": classes, "activation": stated.activation} if columns != 0 else {}),
    }
    missing = tuple(name for name, value in needed.items() if not value)
    if missing:
        raise MissingFacts(missing, columns)
    if columns and len(classes) != columns:
        raise ModelError(f"The network has {columns} outputs, and {len(classes)} classes are named.")
    output = stated.output or OutputKind.CLASSIFICATION
    prefix = "prob_" if output is OutputKind.CLASSIFICATION else ""
    card: dict[str, Any] = {
        "spec_version": "1.0",
        "output": output.value,
        "activation": (stated.activation or Activation.NONE).value,
        "columns": [{"name": f"{prefix}{name}"} for name in classes],
        "tile_px": stated.tile_px or input_px,
        "mpp": stated.mpp,
        "input_px": input_px,
        "mean": mean,
        "std": std,
        "resize": (stated.resize or Resize.EXACT).value,
    }
    optional = {"licence": stated.licence, "batch": stated.batch}
    return card | {name: value for name, value in optional.items() if value is not None}


def _describe_match(found: Match) -> list[str]:
    said = [f"The weights are those of {found.candidate.architecture}, to the last tensor.", *found.candidate.assumed]
    if found.stripped:
        said.append(f'Names of tensors began with "{found.stripped}", which is left away.')
    if found.left_out:
        names = ", ".join(found.left_out[:_SHOWN]) + (", …" if len(found.left_out) > _SHOWN else "")
        said.append(f"{len(found.left_out)} tensors are no part of this network and are left out: {names}.")
    return said


def _describe_hints(hints: Hints) -> list[str]:
    return [f"What {' and '.join(hints.said_by)} say was used where nothing else was stated."] if hints.said_by else []


def _width(found: Match) -> int:
    """Return the width of an encoder's output. Raises ModelError for a network that is not an encoder."""
    with torch.device("meta"):
        module: Any = build_network(found.candidate.architecture, found.candidate.arguments)
    width = getattr(module, "num_features", None)
    if not isinstance(width, int):
        raise ModelError(f"{found.candidate.architecture} has no classifier in these weights, and is no encoder.")
    return int(width)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
