"""Packages of safetensors weights, and tiles that networks tell apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from wsi.records.model_card import ModelCard, Resize
from wsi.slide.resample import resize, resize_as_pillow

CARD: dict[str, Any] = {
    "spec_version": "1.0",
    "kind": "safetensors",
    "architecture": "timm/test_vit",
    "architecture_arguments": {"num_classes": 3, "img_size": 32},
    "output": "classification",
    "activation": "softmax",
    "columns": [{"name": "prob_Other"}, {"name": "prob_Stroma"}, {"name": "prob_Tumor"}],
    "tile_px": 48,
    "mpp": 0.5,
    "input_px": 32,
    "mean": [0.5, 0.5, 0.5],
    "std": [0.25, 0.25, 0.25],
    "batch": 64,
}


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def vit() -> torch.nn.Module:
    timm = pytest.importorskip("timm")  # machines that are lent for their GPU may lack it
    with seeded():
        return timm.create_model("test_vit", num_classes=3, img_size=32).eval()


def write_card_package(folder: Path, module: torch.nn.Module, **changes: Any) -> Path:
    """`changes` replace keys of CARD; a value of None leaves the key out."""
    folder.mkdir(parents=True, exist_ok=True)
    card = {key: value for key, value in {**CARD, **changes}.items() if value is not None}
    (folder / "card.json").write_text(json.dumps(card))
    pytest.importorskip("safetensors.torch").save_file(module.state_dict(), folder / "model.safetensors")
    return folder


def tiles(count: int, side: int, seed: int = 0) -> NDArray[np.uint8]:
    """[count, side, side, 3]: a colour each, with waves and noise on it."""
    rng = np.random.default_rng(seed)
    colour = rng.uniform(40, 215, (count, 1, 1, 3))
    wave = np.sin(np.arange(side) * rng.uniform(0.05, 1.5, (count, 1))) * 30
    noise = rng.normal(0, 8, (count, side, side, 3))
    return np.clip(colour + wave[:, None, :, None] + noise, 0, 255).astype(np.uint8)


def plain(card: ModelCard, module: torch.nn.Module, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What torch says in fp32, in one go and without anything of ours but the resize."""
    exact, side = card.resize is Resize.EXACT, card.input_px
    resized = resize(pixels, side) if exact else resize_as_pillow(pixels, side, card.resize)
    planes = torch.from_numpy(resized).permute(0, 3, 1, 2) / 255
    normal = (planes - torch.tensor(card.mean).view(1, 3, 1, 1)) / torch.tensor(card.std).view(1, 3, 1, 1)
    with torch.inference_mode():
        return torch.softmax(module(normal), 1).numpy()
