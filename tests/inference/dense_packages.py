"""Packages whose networks give maps: small U-Nets with random weights, and networks that look at the whole tile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from inference.models.dense.unet import UNet
from models.nuclei.exporting import make_graph
from tests.inference.packages_with_card import seeded

WIDTHS = (4, 6, 8)
STRIDE = 4
#: Two convolutions of radius 1 at each level on both ways, in px of their level.
MARGIN = 4 * (1 + 2) + 2 * 4 + 2
OBJECTS: dict[str, Any] = {
    "classes": ["Nucleus"],
    "inside": 128,
    "core": 140,
    "least_core": 6,
    "reach": 8,
    "largest_px": 12,
    "margin_px": MARGIN,
    "stride_px": STRIDE,
}
CARD: dict[str, Any] = {
    "spec_version": "1.0",
    "kind": "safetensors",
    "architecture": "tessera/unet",
    "architecture_arguments": {"widths": list(WIDTHS), "maps": 2},
    "output": "detection",
    "objects": OBJECTS,
    "tile_px": 128,
    "mpp": 0.5,
    "mean": [0.5, 0.5, 0.5],
    "std": [0.25, 0.25, 0.25],
    "batch": 4,
}


def make_unet(maps: int = 2) -> UNet:
    with seeded():
        return UNet(WIDTHS, maps).eval()


def write_dense_package(folder: Path, network: UNet | None = None, **changes: Any) -> Path:
    """`changes` replace keys of CARD, and of its objects in `objects`; a value of None leaves the key out."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {**CARD, **changes, "objects": {**OBJECTS, **changes.get("objects", {})}}
    said["objects"] = {key: value for key, value in said["objects"].items() if value is not None}
    card = {key: value for key, value in said.items() if value is not None}
    (folder / "card.json").write_text(json.dumps(card))
    network = network or make_unet()
    if card["kind"] == "onnx":
        (folder / "model.onnx").write_bytes(make_graph(network).SerializeToString())
    else:
        save_file(
            {name: value.contiguous() for name, value in network.state_dict().items()}, folder / "model.safetensors"
        )
    return folder


AS_ONNX: dict[str, Any] = {"kind": "onnx", "architecture": None, "architecture_arguments": None}


class Normalised(torch.nn.Module):
    """A network that normalises over the whole of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.InstanceNorm2d(4), torch.nn.Conv2d(4, 2, 3, padding=1)
        )

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        return self.layers(planes)
