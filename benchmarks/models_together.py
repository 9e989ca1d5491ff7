"""Several models over one slide from one decode, beside the same models one after the other.
`python -m benchmarks.models_together [--models N] [--tiles N]`.

The models are timm's `test_vit` with random weights, which are small, so that reading and decoding is most of the work:
the most that sharing can save. A drawn SVS of JPEG tiles on this disk, tiles of 256 px. Each run is a process of its
own; the table has the least of two runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.machine import describe_machine

SIDE = 256  #: px of a tile


def write_packages(folder: Path, count: int) -> list[Path]:
    import timm
    import torch
    from safetensors.torch import save_file

    packages: list[Path] = []
    for number in range(count):
        torch.manual_seed(number)
        package = folder / f"model-{number}"
        package.mkdir()
        network = timm.create_model("test_vit", num_classes=2, img_size=32)
        save_file(network.state_dict(), package / "model.safetensors")
        card = {
            "spec_version": "1.0",
            "kind": "safetensors",
            "architecture": "timm/test_vit",
            "architecture_arguments": {"num_classes": 2, "img_size": 32},
            "output": "classification",
            "activation": "softmax",
            "columns": [{"name": "prob_a"}, {"name": "prob_b"}],
            "tile_px": SIDE,
            "mpp": 0.5,
            "input_px": 32,
            "batch": 64,
        }
        (package / "card.json").write_text(json.dumps(card))
        packages.append(package)
    return packages


def measure_runs(slide: Path, out: Path, runs: Sequence[Sequence[Path]]) -> tuple[float, float]:
    """Return seconds and CPU seconds of the runs, each of some models at once."""
    began, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    for number, models in enumerate(runs):
        chosen = [word for model in models for word in ("--model", str(model))]
        command = [sys.executable, "-m", "tessera", "run", str(slide), *chosen, "--out", str(out / str(number))]
        subprocess.run([*command, "--threads", "1"], check=True, capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, processor


def main() -> None:
    from tests.slides import write_svs

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--tiles", type=int, default=10_000)
    given = parser.parse_args()
    print(f"{describe_machine()}; {given.models} models, about {given.tiles:,} tiles")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        side = round(given.tiles**0.5) * SIDE
        slide = write_svs(folder / "a.svs", width=side, height=side, levels=(1, 4, 16), tissue=(0, 0, side, side))
        packages = write_packages(folder, given.models)
        ways = {"one after the other": [[one] for one in packages], "from one decode": [packages]}
        for way, runs in ways.items():
            found = [measure_runs(slide, folder / f"{way}-{turn}", runs) for turn in range(2)]
            seconds, processor = (min(values) for values in zip(*found, strict=True))
            print(f"{way:20} {seconds:7.1f} s {processor:7.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
