"""Renames tensors from the names of the libraries that people train with to those of timm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import torch

Tensors = dict[str, torch.Tensor]

#: Of the parameters that must begin alike for the beginning to be a wrapper's.
_MOST: Final = 0.6
_DEEPEST: Final = 4  #: wrappers in wrappers
#: First parts of names that belong to networks themselves.
_OWN: Final = re.compile(r"(?:blocks|layers?\d*|features|stages|conv_head|stem|encoder_layer.*|trans.*block.*)$")

#: Hugging Face's ViT and DINOv2 (transformers.models.vit, .dinov2), and Meta's DINOv2, to timm's VisionTransformer.
_RENAMED: Final[tuple[tuple[str, str], ...]] = (
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.register_tokens$", "reg_token"),
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^encoder\.layer\.(\d+)\.attention\.attention\.(query|key|value)\.", r"blocks.\1.attn.\2."),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"blocks.\1.attn.proj."),
    (r"^encoder\.layer\.(\d+)\.(?:layernorm_before|norm1)\.", r"blocks.\1.norm1."),
    (r"^encoder\.layer\.(\d+)\.(?:layernorm_after|norm2)\.", r"blocks.\1.norm2."),
    (r"^encoder\.layer\.(\d+)\.layer_scale([12])\.lambda1$", r"blocks.\1.ls\2.gamma"),
    (r"^encoder\.layer\.(\d+)\.(?:intermediate\.dense|mlp\.fc1|mlp\.weights_in)\.", r"blocks.\1.mlp.fc1."),
    (r"^encoder\.layer\.(\d+)\.(?:output\.dense|mlp\.fc2|mlp\.weights_out)\.", r"blocks.\1.mlp.fc2."),
    (r"^layernorm\.", "norm."),
    (r"^register_tokens$", "reg_token"),
    (r"^(blocks\.\d+\.mlp)\.w12\.", r"\1.fc1."),
    (r"^(blocks\.\d+\.mlp)\.w3\.", r"\1.fc2."),
)
_PARTS: Final = ("query", "key", "value")


def strip_prefixes(tensors: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, Tensors]]:
    """Yield (prefix, tensors): first all of them, then without ever more of the prefix that most names share, such as
    "model.", "module.backbone.". Tensors without the prefix are left out."""
    beginning, current = "", dict(tensors)
    yield beginning, current
    for _ in range(_DEEPEST):
        first = Counter(name.partition(".")[0] for name in current if "." in name)
        if not first:
            return
        part, count = first.most_common(1)[0]
        if count < _MOST * len(current) or _OWN.match(part):
            return
        current = {name[len(part) + 1 :]: value for name, value in current.items() if name.startswith(f"{part}.")}
        beginning += f"{part}."
        yield beginning, current


@dataclass(frozen=True, slots=True)
class Named:
    tensors: Tensors
    made_of: dict[str, tuple[str, ...]]  #: the names that a tensor had before


def as_timm(tensors: Mapping[str, torch.Tensor]) -> Named:
    """Rename the tensors of Hugging Face's and Meta's vision transformers to timm's names, join query, key and value,
    and return others as they are."""
    old = {_rename(name): name for name in tensors}
    joined: Tensors = {}
    made_of: dict[str, tuple[str, ...]] = {}
    for name, before in old.items():
        part = next((part for part in _PARTS if f".attn.{part}." in name), None)
        if part is None:
            joined[name], made_of[name] = tensors[before], (before,)
        elif part == _PARTS[0]:
            three = [old.get(name.replace(f".attn.{part}.", f".attn.{other}.")) for other in _PARTS]
            both = name.replace(f".attn.{part}.", ".attn.qkv.")
            made_of[both] = tuple(one for one in three if one is not None)
            joined[both] = torch.cat([tensors[one] for one in made_of[both]])
    _fold_class_position(joined)
    return Named(joined, made_of)


def _rename(name: str) -> str:
    for pattern, new in _RENAMED:
        name, count = re.subn(pattern, new, name)
        if count:
            break
    return name


def _fold_class_position(tensors: Tensors) -> None:
    """Add the class token's position to the token where there are registers: timm keeps positions of patches alone
    then, as for DINOv2."""
    position, token = tensors.get("pos_embed"), tensors.get("cls_token")
    if "reg_token" not in tensors or position is None or token is None or position.ndim != 3:
        return
    if (position.shape[1] - 1) ** 0.5 % 1 == 0:  # one more than a square of patches
        tensors["cls_token"] = token + position[:, :1]
        tensors["pos_embed"] = position[:, 1:].contiguous()
