"""Recognises the vision transformer of timm that tensors belong to, from their names and shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

#: Width -> (timm's name of the architecture, heads). Shapes do not tell the number of heads.
_KNOWN: Final[Mapping[int, tuple[str, int]]] = MappingProxyType(
    {
        192: ("vit_tiny_patch16_224", 3),
        384: ("vit_small_patch16_224", 6),
        768: ("vit_base_patch16_224", 12),
        1024: ("vit_large_patch16_224", 16),
        1152: ("vit_so150m_patch16_reg4_gap_256", 16),
        1280: ("vit_huge_patch14_224", 16),
        1408: ("vit_giant_patch14_224", 16),
        1536: ("vit_giant_patch14_224", 24),
        1664: ("vit_gigantic_patch14_224", 16),
    }
)
_HEAD_WIDTH: Final = 64  #: of an unknown width
#: DINO's and most pathology encoders'; the value is overwritten by the weights.
_LAYER_SCALE: Final = 1e-5


def is_vit(tensors: Mapping[str, torch.Tensor]) -> bool:
    """Return whether these are the tensors of timm's VisionTransformer."""
    return {"patch_embed.proj.weight", "blocks.0.norm1.weight", "blocks.0.attn.proj.weight"} <= tensors.keys()


def recognise_vit(tensors: Mapping[str, torch.Tensor]) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    """Return timm's name, the arguments, and the assumptions, a sentence each; None if the positions do not tell the
    side of the input."""
    width, _, patch, _ = tensors["patch_embed.proj.weight"].shape
    depth = 1 + max(int(name.split(".")[1]) for name in tensors if name.startswith("blocks."))
    registers = int(tensors["reg_token"].shape[1]) if "reg_token" in tensors else 0
    has_class = "cls_token" in tensors
    placed = _grid(tensors, has_class, registers)
    if placed is None:
        return None
    side, no_embed_class = placed
    name, heads = _KNOWN.get(int(width), ("vit_base_patch16_224", int(width) // _HEAD_WIDTH))
    hidden = int(tensors["blocks.0.mlp.fc1.weight"].shape[0])
    arguments: dict[str, Any] = {
        "img_size": side * int(patch),
        "patch_size": int(patch),
        "embed_dim": int(width),
        "depth": depth,
        "num_heads": heads,
        # Half a unit more, so that the product is not rounded down.
        "mlp_ratio": round((hidden + 0.5) / int(width), 6),
        "num_classes": int(tensors["head.weight"].shape[0]) if "head.weight" in tensors else 0,
        "qkv_bias": "blocks.0.attn.qkv.bias" in tensors,
    }
    if "blocks.0.ls1.gamma" in tensors:
        arguments["init_values"] = _LAYER_SCALE
    if registers:
        arguments["reg_tokens"] = registers
    if no_embed_class:
        arguments["no_embed_class"] = True
    if not has_class:
        arguments["class_token"] = False
    if "fc_norm.weight" in tensors or not has_class:
        arguments["global_pool"] = "avg"
    if not has_class and "norm.weight" in tensors:
        arguments["fc_norm"] = False
    if "norm_pre.weight" in tensors:
        arguments["pre_norm"] = True
    how = "usual for" if int(width) in _KNOWN else "a guess at"
    assumed = [
        f"num_heads {heads} is {how} a width of {width}, and tensors do not tell it: if it is another one, state the "
        "architecture or its arguments."
    ]
    if int(tensors["blocks.0.mlp.fc2.weight"].shape[1]) * 2 == hidden:
        arguments |= {"mlp_layer": "SwiGLUPacked", "act_layer": "silu"}
    if not arguments["num_classes"]:
        assumed.append("The network has no classifier: its columns are the class token of its last layer.")
    return f"timm/{name}", arguments, tuple(assumed)


def _grid(tensors: Mapping[str, torch.Tensor], has_class: bool, registers: int) -> tuple[int, bool] | None:
    """Return patches along a side, and whether positions are those of patches alone."""
    position = tensors.get("pos_embed")
    if position is None or position.ndim != 3:
        return None
    for beside in dict.fromkeys((int(has_class) + registers, 0)):
        side = math.isqrt(max(0, int(position.shape[1]) - beside))
        if side > 0 and side * side == int(position.shape[1]) - beside:
            return side, beside == 0 and has_class
    return None
