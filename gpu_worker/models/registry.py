"""Which code runs which kind of model. Imports happen inside: a numpy model must not load torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from gpu_worker.models.loaded import LoadedModel
from wsi.builtin_models import STAIN_DENSITY
from wsi.errors import ModelError
from wsi.model_card import ModelCard

Loader = Callable[[ModelCard, Path | None, str], LoadedModel]


def _builtin(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    if card.name != STAIN_DENSITY.name:
        raise ModelError(f"There is no built-in model {card.name}; this worker has {STAIN_DENSITY.name}.")
    from gpu_worker.models.stain_density import StainDensity

    return StainDensity(card)


def _torchscript(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    if package is None:
        raise ModelError(f"The model {card.name} needs its package, and none is registered.")
    try:
        from gpu_worker.models.torchscript import TorchScriptModel
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModelError("TorchScript models need torch, which is not installed here: run `make setup`.") from error

    return TorchScriptModel(card, package, device)


LOADERS: Mapping[str, Loader] = MappingProxyType({"builtin": _builtin, "torchscript": _torchscript})


def load_model(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    """Ready to run on `device` ("cpu", "cuda"). `package` is the folder of a registered package, whose digest was
    checked. Raises ModelError."""
    if card.kind not in LOADERS:
        raise ModelError(f"This worker runs models of kind {', '.join(LOADERS)}, not {card.kind}.")
    return LOADERS[card.kind](card, package, device)
