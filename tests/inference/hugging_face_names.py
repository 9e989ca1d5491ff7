"""timm's vision transformers under the names of Hugging Face's transformers: modeling_vit.py, modeling_dinov2.py."""

from __future__ import annotations

import re

import torch

State = dict[str, torch.Tensor]


def as_vit(tensors: State) -> State:
    """ViTModel, with the pooler that it adds."""
    named = _named(
        tensors, before="layernorm_before", after="layernorm_after", first="intermediate.dense", last="output.dense"
    )
    width = named["embeddings.cls_token"].shape[-1]
    like = named["embeddings.cls_token"]
    return {**named, "pooler.dense.weight": like.new_zeros(width, width), "pooler.dense.bias": like.new_zeros(width)}


def as_dinov2(tensors: State) -> State:
    """Dinov2Model, with the token of its training."""
    named = _named(tensors, before="norm1", after="norm2", first="mlp.fc1", last="mlp.fc2")
    width = named["embeddings.cls_token"].shape[-1]
    return {**named, "embeddings.mask_token": named["embeddings.cls_token"].new_zeros(1, width)}


def _named(tensors: State, *, before: str, after: str, first: str, last: str) -> State:
    renamed: State = {}
    for name, value in tensors.items():
        if ".attn.qkv." in name:
            start, _, kind = name.partition(".attn.qkv.")
            for part, piece in zip(("query", "key", "value"), value.chunk(3), strict=True):
                renamed[f"encoder.layer.{start.split('.')[1]}.attention.attention.{part}.{kind}"] = piece
            continue
        for pattern, new in (
            (r"^cls_token$", "embeddings.cls_token"),
            (r"^pos_embed$", "embeddings.position_embeddings"),
            (r"^patch_embed\.proj\.", "embeddings.patch_embeddings.projection."),
            (r"^norm\.", "layernorm."),
            (r"^blocks\.(\d+)\.attn\.proj\.", r"encoder.layer.\1.attention.output.dense."),
            (r"^blocks\.(\d+)\.norm1\.", rf"encoder.layer.\1.{before}."),
            (r"^blocks\.(\d+)\.norm2\.", rf"encoder.layer.\1.{after}."),
            (r"^blocks\.(\d+)\.ls([12])\.gamma", r"encoder.layer.\1.layer_scale\2.lambda1"),
            (r"^blocks\.(\d+)\.mlp\.fc1\.", rf"encoder.layer.\1.{first}."),
            (r"^blocks\.(\d+)\.mlp\.fc2\.", rf"encoder.layer.\1.{last}."),
        ):
            name = re.sub(pattern, new, name)
        renamed[name] = value
    return renamed
