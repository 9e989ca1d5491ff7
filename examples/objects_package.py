"""Make a package of a model that finds objects: a U-Net for nuclei.

python examples/objects_package.py my-nuclei
tessera models check my-nuclei
tessera run slide.svs --model my-nuclei

The weights are those of the built-in model `nuclei`, from this repository. `models/nuclei` shows how they were trained.
For a network of another shape, export it as ONNX: `kind` is "onnx" then, `architecture` is left out, and the network
gives [n, 2, side, side] for [n, 3, side, side].
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

WEIGHTS = Path(__file__).parents[1] / "inference/models/builtin/nuclei.safetensors"

parser = argparse.ArgumentParser(description="Make a package of a model that finds objects.")
parser.add_argument("folder", type=Path, help="the package; its name becomes the model's")
parser.add_argument("--weights", type=Path, default=WEIGHTS, help="of a U-Net with the same widths")
arguments = parser.parse_args()

card: dict[str, Any] = {
    "spec_version": "1.0",
    "kind": "safetensors",
    "architecture": "tessera/unet",
    # Channels of each level; map 0 is the probability of a nucleus, map 1 how deep a pixel lies in one.
    "architecture_arguments": {"widths": [16, 32, 64, 128], "maps": 2},
    "description": "Outlines of nuclei, by a network that learned from one image: for research, and for no diagnosis.",
    "output": "detection",
    "objects": {
        "classes": ["Nucleus"],
        # In parts of 255: the least probability of a nucleus' pixel, and the least depth of its core's.
        "inside": 128,
        "core": 140,
        # Smaller cores are none; and a nucleus lies within so many steps of its core.
        "least_core": 6,
        "reach": 18,
        # The longest side of a nucleus that is found whole, wherever tiles begin.
        "largest_um": 32,
        # What the network's layers add up to. `tessera models check` measures both.
        "margin_px": 46,
        "stride_px": 8,
    },
    # The larger, the less is computed twice: 800 of 1,024 px are left without the border on each side.
    "tile_px": 1024,
    "mpp": 0.5,
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
    # Tiles of this side take half a GB each on a GPU.
    "batch": 8,
    "stain": "H&E",
    "licence": "Apache-2.0",
}

arguments.folder.mkdir(parents=True, exist_ok=True)
shutil.copyfile(arguments.weights, arguments.folder / "model.safetensors")
(arguments.folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
print(f"{arguments.folder}: objects of {', '.join(card['objects']['classes'])} at {card['mpp']} µm/px")
