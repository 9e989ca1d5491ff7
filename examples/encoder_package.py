"""Make a package of an encoder: a vision transformer of timm, which gives a vector for each tile.

python examples/encoder_package.py my-encoder
tessera models check my-encoder
tessera run slide.svs --model my-encoder

Its weights are random here. With weights of your own, change `ARCHITECTURE`, load them where it says so, and state in
the card what they were trained on: the microns per pixel, mean and std, and the licence that they came with.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors.torch import save_file

ARCHITECTURE = "vit_tiny_patch16_224"

parser = argparse.ArgumentParser(description="Make a package of a vision transformer.")
parser.add_argument("folder", type=Path, help="the package; its name becomes the model's")
arguments = parser.parse_args()

# num_classes=0: without the last layer, timm's networks give the vector that it would classify.
torch.manual_seed(0)
network = timm.create_model(ARCHITECTURE, num_classes=0).eval()
# Your own weights: network.load_state_dict(torch.load("weights.pth", weights_only=True))
with torch.inference_mode():
    dimensions = network(torch.zeros(1, 3, 224, 224)).shape[1]

card: dict[str, Any] = {
    "spec_version": "1.0",
    "kind": "safetensors",
    "architecture": f"timm/{ARCHITECTURE}",
    "description": "A vision transformer with random weights, which shows how a package of an encoder is made.",
    "output": "embedding",
    "dimensions": dimensions,
    # How the network makes one vector of its tokens; written next to the vectors. Here: that of the class token.
    "pooling": "cls",
    # Half the bytes in features.h5, and three digits of each number.
    "features": "fp16",
    "tile_px": 224,
    "mpp": 0.5,
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.5, 0.5],
    "batch": 64,
    # On a GPU, fp16 is about three times as fast; `tessera models check --slide` says whether vectors stay the same.
    "precision": "fp32",
    "licence": "Apache-2.0",
}

arguments.folder.mkdir(parents=True, exist_ok=True)
save_file(
    {name: value.contiguous() for name, value in network.state_dict().items()}, arguments.folder / "model.safetensors"
)
(arguments.folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
print(f"{arguments.folder}: {dimensions} numbers for each tile of {card['tile_px']} px at {card['mpp']} µm/px")
