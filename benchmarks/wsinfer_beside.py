"""WSInfer 0.6.1 and `tessera run` over one slide with one package, in turn, on the same cores.

    python -m benchmarks.wsinfer_beside /tmp/wsinfer/bin/python [tiny|resnet18 [ACROSS DOWN]]

The first argument is a Python with WSInfer (tests/inference/goldens/wsinfer/README.md says how to make it); then one
network in place of both, and tiles across and down. Each arm is a process of its own, timed from its start to its last
table. WSInfer runs with every number of loader processes that the cores allow, and its best counts. The whole slide is
tissue, so that both read the same tiles.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch

CORES = len(os.sched_getaffinity(0))
TILES = (36, 28)  #: of 256 px at 0.5 um, across and down, by default
ROUNDS = 2
TRANSFORM = [
    {"name": "Resize", "arguments": {"size": 224}},
    {"name": "ToTensor"},
    {"name": "Normalize", "arguments": {"mean": [0.7238, 0.5716, 0.6779], "std": [0.112, 0.1459, 0.1089]}},
]
NETWORKS = ("tiny", "resnet18")


def main(python: str, networks: tuple[str, ...] = NETWORKS, tiles: tuple[int, int] = TILES) -> None:
    from tests.slides import write_svs

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        width, height = (count * 256 for count in tiles)
        (folder / "slides").mkdir()
        slide = write_svs(
            folder / "slides" / "slide.svs", width=width, height=height, levels=(1, 4), tissue=(0, 0, width, height)
        )
        print(
            f"{platform.machine()}, {CORES} cores, {tiles[0] * tiles[1]:,} boxes, {slide.stat().st_size / 1e6:.0f} MB"
        )
        for network in networks:
            package = _package(folder / network, network)
            best: dict[str, tuple[float, int]] = {}
            for _ in range(ROUNDS):
                _keep(best, "tessera run", _ours(slide, package, folder / "ours"))
                for workers in range(CORES + 1):
                    name = f"wsinfer, {workers} loaders"
                    _keep(best, name, _theirs(python, slide, package, folder / "theirs", workers))
            _tell(network, best)


def _keep(best: dict[str, tuple[float, int]], name: str, found: tuple[float, int]) -> None:
    best[name] = min(best.get(name, found), found)


def _tell(network: str, best: dict[str, tuple[float, int]]) -> None:
    theirs = min(seconds for name, (seconds, _) in best.items() if name.startswith("wsinfer"))
    for name, (seconds, tiles) in best.items():
        print(f"{network:9} {name:19} {seconds:6.1f} s, {tiles:,} tiles, {seconds / theirs:.2f} of WSInfer's best")


def _ours(slide: Path, package: Path, out: Path) -> tuple[float, int]:
    command = [sys.executable, "-m", "tessera", "run", str(slide), "--model", str(package), "--out", str(out)]
    subprocess.run(["rm", "-rf", str(out)], check=True)
    seconds = _time_command(command, {})
    return seconds, json.loads((out / "summary.json").read_text())["tiles"]["inferred"]


def _theirs(python: str, slide: Path, package: Path, out: Path, workers: int) -> tuple[float, int]:
    subprocess.run(["rm", "-rf", str(out)], check=True)
    arm = [python, "-m", "benchmarks.wsinfer_beside", "--arm", str(slide.parent), str(package), str(out), str(workers)]
    seconds = _time_command(arm, {"WSINFER_FORCE_CPU": "1"})
    (table,) = (out / "model-outputs-csv").iterdir()
    return seconds, len(table.read_text().splitlines()) - 1


def _time_command(command: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr[-2000:]}")
    return time.perf_counter() - began


def _package(folder: Path, network: str) -> Path:
    """Write a package in WSInfer's layout: a traced network with random weights of a fixed seed."""
    folder.mkdir()
    torch.manual_seed(0)
    module = _tiny() if network == "tiny" else _resnet18()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(module.eval(), torch.rand(2, 3, 224, 224)).save(folder / "torchscript_model.pt")
    config: dict[str, Any] = {
        "spec_version": "1.0",
        "architecture": network,
        "num_classes": 2,
        "class_names": ["Other", "Tumor"],
        "patch_size_pixels": 256,
        "spacing_um_px": 0.5,
        "transform": TRANSFORM,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _tiny() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten()
    ).append(torch.nn.Linear(128, 2))


def _resnet18() -> torch.nn.Module:
    import torchvision

    return torchvision.models.resnet18(num_classes=2)


def run_wsinfer(slides: Path, package: Path, results: Path, workers: int) -> None:
    """Run what `wsinfer run` does, in WSInfer's own environment; the command itself requests a hub's list of models."""
    from wsinfer.modellib.models import LocalModelTorchScript
    from wsinfer.modellib.run_inference import run_inference
    from wsinfer.patchlib import segment_and_patch_directory_of_slides
    from wsinfer_zoo.client import ModelConfiguration

    config = ModelConfiguration.from_dict(json.loads((package / "config.json").read_text()))
    segment_and_patch_directory_of_slides(
        slides, results, patch_size_px=config.patch_size_pixels, patch_spacing_um_px=config.spacing_um_px
    )
    model = LocalModelTorchScript(config=config, model_path=str(package / "torchscript_model.pt"))
    failed = run_inference(slides, results, model, num_workers=workers)
    if failed != ([], []):
        raise RuntimeError(f"WSInfer failed: {failed}")


if __name__ == "__main__":
    if sys.argv[1] == "--arm":
        run_wsinfer(*map(Path, sys.argv[2:5]), int(sys.argv[5]))
    else:
        python, *asked = sys.argv[1:]
        networks = tuple(asked[:1]) or NETWORKS
        main(python, networks, (int(asked[1]), int(asked[2])) if len(asked) > 2 else TILES)
