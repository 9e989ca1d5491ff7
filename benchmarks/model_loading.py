"""The time to load a network, check included: `python -m benchmarks.model_loading [--cuda] [ARCHITECTURE …]`.

Random weights; each network in a package of safetensors, loaded as a worker loads it. The check is part of the loading,
and is measured once more by itself.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import timm
import torch
from safetensors.torch import save_file

from inference.models.checks.network_check import Inspectable, check_network
from inference.models.package import read_package
from inference.models.registry import load_model

ARCHITECTURES = ("resnet50", "resnet18", "efficientnet_lite0", "vit_small_patch16_224")


def main(names: list[str]) -> None:
    device = "cuda" if "--cuda" in names else "cpu"
    names = [name for name in names if name != "--cuda"] or list(ARCHITECTURES)
    where = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    print(f"{where}, {os.cpu_count()} cores, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    print("architecture               loading s  check s")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            package = write_package(Path(folder) / "package", name)
            card = read_package(package)
            began = time.perf_counter()
            model = load_model(card, package, device)
            loaded = time.perf_counter() - began
            assert isinstance(model, Inspectable)
            began = time.perf_counter()
            check_network(model)
            print(f"{name:25}  {loaded:9.2f}  {time.perf_counter() - began:7.2f}")


def write_package(folder: Path, name: str) -> Path:
    folder.mkdir()
    module = timm.create_model(name, num_classes=2)
    save_file(module.state_dict(), folder / "model.safetensors")
    card = {
        "spec_version": "1.0",
        "kind": "safetensors",
        "architecture": f"timm/{name}",
        "architecture_arguments": {"num_classes": 2},
        "output": "classification",
        "activation": "softmax",
        "columns": [{"name": "a"}, {"name": "b"}],
        "tile_px": 224,
        "mpp": 0.5,
    }
    (folder / "card.json").write_text(json.dumps(card))
    return folder


if __name__ == "__main__":
    main(sys.argv[1:])
