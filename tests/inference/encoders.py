"""The best known encoders of pathology, built as their model cards say, without their weights.

Each is what its publisher's page tells to write, and the millions of parameters that it states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import timm
import torch
from timm.layers import SwiGLUPacked

from tests.inference.hugging_face_names import as_dinov2, as_vit


@dataclass(frozen=True, kw_only=True)
class Encoder:
    build: Callable[[], Any]
    millions: int  #: of parameters
    config: Mapping[str, Any] = field(default_factory=dict)  #: what config.json says, where one is published
    names: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]] = lambda tensors: tensors
    heads: int = 12


def _timm(name: str, **arguments: Any) -> Callable[[], Any]:
    return lambda: timm.create_model(name, pretrained=False, num_classes=0, **arguments)


UNI2: dict[str, Any] = {
    "img_size": 224,
    "patch_size": 14,
    "depth": 24,
    "num_heads": 24,
    "init_values": 1e-5,
    "embed_dim": 1536,
    "mlp_ratio": 2.66667 * 2,
    "no_embed_class": True,
    "reg_tokens": 8,
    "dynamic_img_size": True,
}
VIRCHOW: dict[str, Any] = {"img_size": 224, "init_values": 1e-5, "mlp_ratio": 5.3375, "dynamic_img_size": True}
GIGAPATH: dict[str, Any] = {
    "img_size": 224,
    "patch_size": 16,
    "embed_dim": 1536,
    "depth": 40,
    "num_heads": 24,
    "init_values": 1e-5,
    "mlp_ratio": 5.33334,
}
SWIGLU: dict[str, Any] = {"mlp_layer": SwiGLUPacked, "act_layer": torch.nn.SiLU}

#: huggingface.co, as of November 2026: MahmoodLab/UNI and UNI2-h, paige-ai/Virchow and Virchow2, bioptimus/H-optimus-0,
#: -1 and H0-mini, prov-gigapath/prov-gigapath, owkin/phikon and phikon-v2, 1aurent's Kaiko and Lunit.
ENCODERS: dict[str, Encoder] = {
    "UNI": Encoder(
        build=_timm("vit_large_patch16_224", img_size=224, init_values=1e-5, dynamic_img_size=True),
        millions=303,
        heads=16,
    ),
    "UNI2-h": Encoder(
        build=_timm("vit_giant_patch14_224", **UNI2, **SWIGLU),
        millions=681,
        heads=24,
        config={"architecture": "vit_giant_patch14_224", "pretrained_cfg": {}, "model_args": UNI2},
    ),
    "Virchow": Encoder(
        build=_timm("vit_huge_patch14_224", **VIRCHOW, **SWIGLU),
        millions=631,
        heads=16,
        config={
            "architecture": "vit_huge_patch14_224",
            "pretrained_cfg": {"mean": [0.485, 0.456, 0.406]},
            "model_args": {**VIRCHOW, "global_pool": ""},
        },
    ),
    "Virchow2": Encoder(
        build=_timm("vit_huge_patch14_224", **VIRCHOW, reg_tokens=4, **SWIGLU),
        millions=631,
        heads=16,
        config={
            "architecture": "vit_huge_patch14_224",
            "pretrained_cfg": {"mean": [0.485, 0.456, 0.406]},
            "model_args": {**VIRCHOW, "global_pool": "", "reg_tokens": 4},
        },
    ),
    "H-optimus-0": Encoder(
        build=_timm("vit_giant_patch14_reg4_dinov2", img_size=224, init_values=1e-5), millions=1134, heads=24
    ),
    "H-optimus-1": Encoder(
        build=_timm("vit_giant_patch14_reg4_dinov2", img_size=224, init_values=1e-5),
        millions=1134,
        heads=24,
        config={"architecture": "vit_giant_patch14_reg4_dinov2", "pretrained_cfg": {"std": [0.2] * 3}},
    ),
    "H0-mini": Encoder(
        build=_timm("vit_base_patch14_reg4_dinov2", img_size=224, init_values=1e-5, mlp_ratio=5.33334, **SWIGLU),
        millions=86,
    ),
    "Prov-GigaPath": Encoder(
        build=_timm("vit_giant_patch14_dinov2", **GIGAPATH),
        millions=1134,
        heads=24,
        config={
            "architecture": "vit_giant_patch14_dinov2",
            "pretrained_cfg": {"mean": [0.485, 0.456, 0.406]},
            "model_args": {**GIGAPATH, "in_chans": 3, "num_classes": 0},
        },
    ),
    "Phikon": Encoder(build=_timm("vit_base_patch16_224"), millions=86, names=as_vit),
    "Phikon-v2": Encoder(
        build=_timm("vit_large_patch16_224", init_values=1e-5), millions=303, heads=16, names=as_dinov2
    ),
    "Kaiko ViT-B/8": Encoder(build=_timm("vit_base_patch8_224", dynamic_img_size=True), millions=86),
    "Lunit ViT-S/16": Encoder(build=_timm("vit_small_patch16_224", dynamic_img_size=True), millions=22, heads=6),
}
