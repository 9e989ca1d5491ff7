"""Safetensors weights in the named architectures of timm and torchvision, and in one of our own.

The file holds tensors and nothing that could run; the code is that of the libraries. Nothing is downloaded: a name
is looked up in what is installed, and weights come from the package alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

import timm
import torch
import torchvision
from safetensors import SafetensorError
from safetensors.torch import load_file

from inference.models.card.file import read_card
from inference.models.card.own_words import describe_error
from inference.models.dense.unet import UNet
from inference.models.execution.devices import prepare_device
from inference.models.execution.running import run_on
from inference.models.loaded import LoadedModel
from inference.models.package import WEIGHTS
from wsi.errors import ModelError
from wsi.numerics import CODE_VERSION
from wsi.records.model_card import ModelCard

#: What a card may pass on: sizes of the network. Others could name files to load, or switch off what strict loading
#: checks.
ARGUMENTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "timm": frozenset(
            {"act_layer", "class_token", "depth", "depths", "dynamic_img_size", "embed_dim", "fc_norm", "final_norm"}
            | {"global_pool", "img_size", "init_values", "mlp_layer", "mlp_ratio", "no_embed_class", "num_classes"}
            | {"num_heads", "patch_size", "pre_norm", "qk_norm", "qkv_bias", "reg_tokens", "window_size"}
        ),
        "tessera": frozenset({"maps", "widths"}),
        "torchvision": frozenset({"aux_logits", "image_size", "init_weights", "num_classes", "transform_input"}),
    }
)
#: Blocks between attentions that encoders of pathology have in place of timm's default.
MLP_LAYERS = ("Mlp", "GluMlp", "SwiGLU", "SwiGLUPacked")
#: Names of counters that a network keeps while it is trained and never reads afterwards.
COUNTERS = ("num_batches_tracked",)
#: Levels of a U-Net, and channels of one: more is a mistake.
DEEPEST, WIDEST = 8, 4096
#: Names in a refusal; a state dict of another network has hundreds.
_SHOWN = 3


def load_safetensors(card: ModelCard, package: Path, device: str) -> LoadedModel:
    """Load a package's weights into the architecture that its card names. Raises ModelError for an unknown
    architecture, weights that do not fit it to the last tensor, or a missing device; UnsuitableDevice, DeviceLost."""
    chosen = prepare_device(device)
    card_file = read_card(package)
    arguments = dict(card_file.architecture_arguments)
    if card.embedding is not None and (card_file.architecture or "").startswith("timm/"):
        arguments.setdefault("num_classes", 0)  # timm's networks give the pooled vector then
    module = build_network(card_file.architecture or "", arguments)
    _fill(module, read_tensors(package / WEIGHTS["safetensors"]))
    return run_on(chosen, card, module)


def build_network(architecture: str, arguments: Mapping[str, Any]) -> torch.nn.Module:
    """Return the network "library/name" with random weights. Raises ModelError."""
    library, _, name = architecture.partition("/")
    if library not in _MAKERS:
        raise ModelError(f"architecture must be timm/…, torchvision/… or tessera/unet, not {architecture}.")
    if unknown := sorted(arguments.keys() - ARGUMENTS[library]):
        raise ModelError(f"architecture_arguments has {', '.join(unknown)}{_instead(unknown[0], library)}.")
    if not _KNOWN[library](name):
        near = get_close_matches(name, NAMES[library](), 1)
        meant = f"; perhaps {library}/{near[0]} is meant" if near else ""
        raise ModelError(f"{library} {_VERSIONS[library]} has no architecture {name}{meant}.")
    try:
        return _MAKERS[library](name, arguments)
    except ModelError:
        raise
    except Exception as error:  # it is the libraries' code, over arguments of the card's
        raise ModelError(
            f"{architecture} cannot be built with the card's architecture_arguments: {describe_error(error)}."
        ) from error


def _instead(argument: str, library: str) -> str:
    if argument == "in_chans":
        return ": networks take RGB here, so leave it out"
    near = get_close_matches(argument, ARGUMENTS[library], 1)
    allowed = f"of {library} a card may say {', '.join(sorted(ARGUMENTS[library]))}"
    return f"; perhaps {near[0]} is meant; {allowed}" if near else f"; {allowed}"


def _timm(name: str, arguments: Mapping[str, Any]) -> torch.nn.Module:
    stated = dict(arguments)
    if "mlp_layer" in stated:
        if stated["mlp_layer"] not in MLP_LAYERS:
            raise ModelError(f"mlp_layer must be {' or '.join(MLP_LAYERS)}, not {stated['mlp_layer']}.")
        stated["mlp_layer"] = getattr(timm.layers, stated["mlp_layer"])
    return timm.create_model(name, pretrained=False, **stated)


def _torchvision(name: str, arguments: Mapping[str, Any]) -> torch.nn.Module:
    return torchvision.models.get_model(name, weights=None, **arguments)


def _tessera(name: str, arguments: Mapping[str, Any]) -> torch.nn.Module:
    widths, maps = arguments.get("widths"), arguments.get("maps")
    if not (isinstance(widths, list) and 2 <= len(widths) <= DEEPEST and all(map(_is_width, widths))):
        raise ModelError(f"widths must be a list of 2 to {DEEPEST} whole numbers above 0, as [16, 32, 64, 128].")
    if not _is_width(maps):
        raise ModelError("maps must be a whole number above 0, as 2: of an object, and how deep a pixel lies in it.")
    return UNet(widths, int(maps or 0))


def _is_width(value: Any) -> bool:
    return type(value) is int and 1 <= value <= WIDEST


_MAKERS: Mapping[str, Callable[[str, Mapping[str, Any]], torch.nn.Module]] = {
    "timm": _timm,
    "torchvision": _torchvision,
    "tessera": _tessera,
}
_KNOWN: Mapping[str, Callable[[str], bool]] = {
    "timm": timm.is_model,
    "torchvision": lambda name: name in NAMES["torchvision"](),
    "tessera": lambda name: name in NAMES["tessera"](),
}
#: All architectures of each library.
NAMES: Mapping[str, Callable[[], list[str]]] = {
    "timm": timm.list_models,
    "torchvision": lambda: torchvision.models.list_models(module=torchvision.models),
    "tessera": lambda: ["unet"],
}
_VERSIONS = {"timm": timm.__version__, "torchvision": torchvision.__version__, "tessera": CODE_VERSION}


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Return what a safetensors file holds. Raises ModelError."""
    try:
        return load_file(path, device="cpu")
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path.name} is damaged or no safetensors file: copy or download it again.") from error


def _fill(module: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    wanted = {name: value for name, value in module.state_dict().items() if not name.endswith(COUNTERS)}
    tensors = {name: value for name, value in tensors.items() if not name.endswith(COUNTERS)}
    wrong = {
        "missing": sorted(wanted.keys() - tensors.keys()),
        "unknown": sorted(tensors.keys() - wanted.keys()),
        "of another shape": sorted(
            name for name in wanted.keys() & tensors.keys() if wanted[name].shape != tensors[name].shape
        ),
        "of whole numbers, as quantised weights are": sorted(
            name
            for name in wanted.keys() & tensors.keys()
            if wanted[name].is_floating_point() and not tensors[name].is_floating_point()
        ),
    }
    if any(wrong.values()):
        found = "; ".join(
            f"{len(names)} {what} ({', '.join(names[:_SHOWN])}{', …' if len(names) > _SHOWN else ''})"
            for what, names in wrong.items()
            if names
        )
        raise ModelError(f"The weights do not fit the architecture: tensors {found}.")
    module.load_state_dict(tensors, strict=False)  # all but the counters: checked above
