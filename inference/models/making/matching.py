"""Finds the architecture that tensors belong to. Builds those of timm and torchvision without memory, and compares
every name and shape."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from inference.models.architectures import COUNTERS, NAMES, build_network
from inference.models.making.names import Tensors, as_timm, strip_prefixes
from inference.models.making.vit import is_vit, recognise_vit
from wsi.errors import ModelError

#: A name that only one family has -> how timm's names of that family begin. Those of torchvision are always tried.
_FAMILIES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("layer1.0.conv1.weight", ("resnet", "wide_resnet", "resnext", "seresnet", "ecaresnet", "legacy_seresnet")),
    ("layers.0.blocks.0.attn.relative_position_bias_table", ("swin_",)),
    ("layers.0.blocks.0.attn.cpb_mlp.0.weight", ("swinv2_",)),
    ("stages.0.blocks.0.conv_dw.weight", ("convnext",)),
    ("conv_stem.weight", ("efficientnet", "tf_efficientnet", "mobilenet", "mnasnet", "mixnet", "ghostnet", "fbnet")),
    ("features.denseblock1.denselayer1.conv1.weight", ("densenet",)),
    ("s1.b1.conv1.conv.weight", ("regnet",)),
    ("features.0.weight", ("vgg",)),
    ("Mixed_5b.branch1x1.conv.weight", ("inception_v3",)),
)
_HEADS: Final = ("head.fc", "head", "fc", "classifier", "heads.head")


@dataclass(frozen=True, slots=True)
class ArchitectureCandidate:
    architecture: str  #: library/name
    arguments: dict[str, Any]
    assumed: tuple[str, ...] = ()  #: what tensors do not tell, a sentence each


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    candidate: ArchitectureCandidate
    tensors: Tensors  #: those of the network, by its own names
    left_out: tuple[str, ...]  #: names of tensors that are not the network's
    stripped: str  #: what the names of the network's began with


def match_architecture(
    tensors: Mapping[str, torch.Tensor], *, architecture: str | None = None, arguments: Mapping[str, Any] | None = None
) -> Match:
    """Return the architecture whose tensors are all among these, and which leaves out the fewest. With `architecture`,
    try only that. Raises ModelError that names the nearest one."""
    found: list[Match] = []
    near: list[tuple[int, str]] = []
    levels = [(stripped, as_timm(inner)) for stripped, inner in strip_prefixes(tensors)]
    known = [level for level in levels if architecture is not None or _family(level[1].tensors) is not None]
    for stripped, named in known or levels:
        for candidate in _candidates(named.tensors, architecture, arguments):
            shapes = find_shapes(candidate.architecture, candidate.arguments)
            if shapes is None:
                continue
            wrong = [name for name, shape in shapes.items() if _differs(named.tensors.get(name), shape)]
            if wrong:
                where = _difference(wrong[0], shapes[wrong[0]], named.tensors.get(wrong[0]))
                near.append((len(wrong), f"{candidate.architecture}, where {where}"))
                continue
            before = {f"{stripped}{one}" for name in shapes for one in named.made_of[name]}
            left_out = sorted(name for name in tensors.keys() - before if not name.endswith(COUNTERS))
            if own := _of_the_network(left_out, stripped, shapes):
                near.append((len(own), f"{candidate.architecture}, which has no {own[0]}"))
                continue
            used = {name: named.tensors[name] for name in shapes}
            found.append(Match(candidate=candidate, tensors=used, left_out=tuple(left_out), stripped=stripped))
            break
    if found:
        return min(found, key=lambda one: len(one.left_out))
    which = f"fit {architecture}" if architecture else "belong to an architecture of timm or torchvision that is known"
    nearest = f"; the nearest is {min(near)[1]}" if near else ""
    raise ModelError(f"The {len(tensors):,} tensors do not {which}{nearest}.")


def _of_the_network(left_out: Iterable[str], stripped: str, shapes: Mapping[str, torch.Size]) -> list[str]:
    """Return the names in a part that the architecture has: layers of a deeper network are not remains of training."""
    parts = {name.partition(".")[0] for name in shapes if "." in name}
    own = (name.removeprefix(stripped) for name in left_out if name.startswith(stripped))
    return [name for name in own if name.partition(".")[0] in parts]


def find_shapes(architecture: str, arguments: Mapping[str, Any]) -> dict[str, torch.Size] | None:
    """Return the names and shapes of an architecture's state dict, without counters of training; None if it cannot be
    built with these arguments."""
    try:
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of initial values, which are not used
            module = build_network(architecture, arguments)
    except ModelError:
        return None
    return {name: value.shape for name, value in module.state_dict().items() if not name.endswith(COUNTERS)}


def _candidates(
    tensors: Tensors, architecture: str | None, arguments: Mapping[str, Any] | None
) -> Iterator[ArchitectureCandidate]:
    """Yield the architectures that the tensors may belong to, the likeliest first."""
    seen = recognise_vit(tensors) if is_vit(tensors) else None
    classes = {"num_classes": _classes(tensors)}
    if architecture is not None:
        yield ArchitectureCandidate(architecture, {**classes, **(arguments or {})})
        if seen is not None:  # heads are the architecture's own, or those that its config says
            shape = {name: value for name, value in seen[1].items() if name != "num_heads"}
            yield ArchitectureCandidate(architecture, {**shape, **(arguments or {})})
        if not arguments:
            yield ArchitectureCandidate(architecture, {})
    elif seen is not None:
        yield ArchitectureCandidate(*seen)
    elif not is_vit(tensors):
        for name in _names(_family(tensors)):
            yield ArchitectureCandidate(name, classes)


def _family(tensors: Tensors) -> tuple[str, ...] | None:
    """Return the beginnings of timm's names of the tensors' family; None for an unknown family."""
    if is_vit(tensors):
        return ("vit_",)
    return next((begins for name, begins in _FAMILIES if name in tensors), None)


def _names(begins: tuple[str, ...] | None) -> Iterator[str]:
    for name in NAMES["torchvision"]():
        yield f"torchvision/{name}"
    for name in NAMES["timm"]():
        if begins is not None and name.startswith(begins):
            yield f"timm/{name}"


def _classes(tensors: Tensors) -> int:
    for head in _HEADS:
        weight = tensors.get(f"{head}.weight")
        if weight is not None and weight.ndim >= 2:
            return int(weight.shape[0])
    last = [value for name, value in tensors.items() if name.endswith(".weight") and value.ndim == 2]
    return int(last[-1].shape[0]) if last and any(name.startswith("classifier.") for name in tensors) else 0


def _differs(found: torch.Tensor | None, wanted: torch.Size) -> bool:
    return found is None or found.shape != wanted


def _difference(name: str, wanted: torch.Size, found: torch.Tensor | None) -> str:
    if found is None:
        return f"{name} is missing"
    return f"{name} has shape {list(found.shape)} and not {list(wanted)}"
