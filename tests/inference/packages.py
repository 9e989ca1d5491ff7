"""Small WSInfer packages: a network of ours scripted to TorchScript, with its config."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import torch

CONFIG: dict[str, Any] = {
    "spec_version": "1.0",
    "architecture": "small",
    "num_classes": 2,
    "class_names": ["Other", "Tumor"],
    "patch_size_pixels": 256,
    "spacing_um_px": 0.5,
    "transform": [
        {"name": "Resize", "arguments": {"size": 64}},
        {"name": "ToTensor"},
        {"name": "Normalize", "arguments": {"mean": [0.7238, 0.5716, 0.6779], "std": [0.112, 0.1459, 0.1089]}},
    ],
}


class Small(torch.nn.Module):
    """Two convolutions and a mean: [n, 3, 64, 64] to [n, classes] logits."""

    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2)
        self.second = torch.nn.Conv2d(8, 16, 3, stride=2)
        self.last = torch.nn.Linear(16, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.last(x.mean(dim=(2, 3))) * 3


def network(classes: int = 2, seed: int = 0) -> Small:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Small(classes).eval()


def scripted(module: torch.nn.Module) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch.jit is the format that the zoo has
        return torch.jit.script(module)


def write_package(folder: Path, module: torch.nn.Module | None = None, **changes: Any) -> Path:
    """`changes` replace keys of CONFIG; a value of None leaves the key out."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    scripted(module or network()).save(str(folder / "torchscript_model.pt"))
    return folder
