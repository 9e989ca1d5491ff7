"""Model packages: folders of few files, each identified by the sha256 of all its files.

    config.json + torchscript_model.pt [+ card.json [+ golden.npz]]     WSInfer's layout, kind "torchscript"
    card.json + model.safetensors [+ golden.npz]                        kind "safetensors"
    card.json + model.onnx [+ model.onnx.data] [+ golden.npz]           kind "onnx"

Other files of the folder are not part of the package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inference.models import wsinfer
from inference.models.card.file import Additions, Card, read_additions, read_card, read_fields
from inference.models.card.rules import check_card
from inference.models.weights_file import INDEX, SUFFIXES, check_kind
from wsi.errors import ModelError
from wsi.models.package_files import (
    CARD,
    CONFIG,
    ONNX,
    ONNX_DATA,
    PACKAGE_FILES,
    SAFETENSORS,
    TORCHSCRIPT,
    compute_files_digest,
)
from wsi.records.model_card import Activation, ModelCard, OutputColumn
from wsi.records.outputs import EmbeddingOutput, Stored

#: kind -> the file that holds the weights.
WEIGHTS: Mapping[str, str] = MappingProxyType({"torchscript": TORCHSCRIPT, "safetensors": SAFETENSORS, "onnx": ONNX})
_SHOWN = 3


def read_package(folder: Path) -> ModelCard:
    """Read the card of the package in `folder`. Raises ModelError with a message that says what is wrong."""
    card = _wsinfer(folder) if _is_wsinfer(folder) else _with_card(folder)
    check_card(card)
    for name in card.files:
        if name in WEIGHTS.values() and (folder / name).is_file():
            check_kind(folder / name)
    digest = compute_digest(folder, card.files)
    return replace(card, name=folder.resolve().name, version=digest[:12], digest=digest)


def list_files(card: ModelCard) -> tuple[str, ...]:
    """Return the names of the files of the card's package. Raises ModelError for one that no package has."""
    files = card.files or wsinfer.FILES
    if not PACKAGE_FILES.issuperset(files):
        raise ModelError(f"The card of {card.name} names a file that no package has: register the model again.")
    return files


def compute_digest(folder: Path, files: Sequence[str]) -> str:
    """Return the hex sha256 of the package, as `sha256sum FILE... | sha256sum` prints it. Raises ModelError for a
    missing file."""
    sha256: dict[str, str] = {}
    for name in files:
        if not (folder / name).is_file():
            raise ModelError(f"The model package has no file {name}.")
        with (folder / name).open("rb") as file:
            sha256[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return compute_files_digest(sha256)


def _is_wsinfer(folder: Path) -> bool:
    """Return whether the config.json is WSInfer's. Many networks of Hugging Face and timm come with one of their own:
    so a card counts first if it names its kind and has its weights next to it."""
    if not (folder / CONFIG).is_file():
        return False
    if (folder / TORCHSCRIPT).is_file() or not (folder / CARD).is_file():
        return True
    return not (folder / WEIGHTS.get(str(read_fields(folder).get("kind")), "")).is_file()


def _wsinfer(folder: Path) -> ModelCard:
    card = wsinfer.read_config(folder)
    if not (folder / CARD).is_file():
        return card
    additions = read_additions(folder)
    activation = additions.activation or card.activation
    return replace(
        card, **_collect_fields(additions), activation=activation, files=(*card.files, CARD, *_golden(additions))
    )


def _with_card(folder: Path) -> ModelCard:
    if not (folder / CARD).is_file():
        raise ModelError(_no_package(folder))
    said = read_card(folder)
    input_px = said.input_px or said.tile_px
    return ModelCard(
        name="",
        version="",
        digest="",
        kind=said.kind,
        tile_px=said.tile_px,
        mpp=said.mpp,
        input_px=input_px,
        output=said.output,
        columns=tuple(OutputColumn(**column.model_dump()) for column in said.columns or ()),
        embedding=_embedding(said),
        objects=said.objects.as_output(said.mpp * said.tile_px / input_px) if said.objects is not None else None,
        activation=said.activation or (Activation.SIGMOID if said.objects is not None else Activation.NONE),
        resize=said.resize,
        mean=said.mean,
        std=said.std,
        channels=said.channels,
        files=(CARD, *_weights(folder, said.kind), *_golden(said)),
        **_collect_fields(said),
    )


def _embedding(said: Card) -> EmbeddingOutput | None:
    if said.dimensions is None or said.pooling is None:
        return None
    return EmbeddingOutput(dimensions=said.dimensions, pooling=said.pooling, stored=said.features or Stored.FP32)


def _no_package(folder: Path) -> str:
    found = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    weights = [name for name in found if name.endswith((*SUFFIXES, INDEX))]
    if weights:
        shown = ", ".join(weights[:_SHOWN]) + (", …" if len(weights) > _SHOWN else "")
        return (
            f"The folder is no model package: it holds {shown} and no {CARD}. `tessera models make` makes a package of "
            "weights as they are published."
        )
    return f"The model package has neither {CONFIG} (of WSInfer) nor {CARD}."


def _collect_fields(said: Additions | Card) -> dict[str, Any]:
    """Return the card.json's values of the fields that any card may state."""
    names = Additions.model_fields.keys() - {"spec_version", "tolerance", "golden", "stain_normalisation"}
    stated = {name: value for name in names if (value := getattr(said, name)) is not None}
    reference = said.stain_normalisation
    return {
        **stated,
        "tolerance": said.whole_tolerance,
        "stain_normalisation": reference.normalisation() if reference is not None else None,
    }


def _weights(folder: Path, kind: str) -> tuple[str, ...]:
    beside = kind == "onnx" and (folder / ONNX_DATA).is_file()
    return (WEIGHTS[kind], ONNX_DATA) if beside else (WEIGHTS[kind],)


def _golden(said: Additions) -> tuple[str, ...]:
    return (said.golden,) if said.golden is not None else ()
