"""The way from no GPU to the first scored tile: its parts, published or measured, and their sum.

`python -m benchmarks.cold_start` prints the table of docs/explanation/scaling.md, which `adapters.settings.cold_start`
holds. With `--measure FOLDER`, a package as `benchmarks.model_loading` writes it, it measures the parts of the worker's
process on this machine's GPU instead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from adapters.settings.cold_start import PARTS, sum_parts

TARGET_SECONDS = 150
RUNS = 16


def make_table() -> str:
    """Return the table as Markdown."""
    rows = [(part.name, f"{part.p50:g}", f"{part.p90:g}", part.source) for part in PARTS]
    p50, p90 = sum_parts()
    rows.append(("**all**", f"**{p50:.0f}**", f"**{p90:.0f}**", f"target: {TARGET_SECONDS}"))
    lines = [f"| {' | '.join(row)} |" for row in (("part", "p50, s", "p90, s", "source"), ("---",) * 4, *rows)]
    return "\n".join(lines)


#: Of the measured process. What a worker does between its start and its first batch, without queue and database.
_STEPS = """
import json, sys, time
times = [time.perf_counter()]
import numpy as np
import torch
from pathlib import Path
from inference.models import architectures
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.registry import load_model
times.append(time.perf_counter())
torch.zeros(1, device="cuda"); torch.cuda.synchronize()
times.append(time.perf_counter())
folder = Path(sys.argv[1])
model = load_model(read_package(folder), folder, "cuda")
times.append(time.perf_counter())
score_tiles(model, np.random.default_rng(0).integers(0, 255, (256, 224, 224, 3), np.uint8))
times.append(time.perf_counter())
print(json.dumps([end - begin for begin, end in zip(times, times[1:])]))
"""
STEPS = ("imports", "CUDA context", "load, check, record the graph", "first batch")


def measure_process(package: Path, runs: int = RUNS) -> list[list[float]]:
    """Return the seconds of each of STEPS, for as many fresh processes. The first may read from a cold disk."""
    command = (sys.executable, "-c", _STEPS, str(package))
    return [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(runs)]


def find_percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p90."""
    return statistics.median(seconds), sorted(seconds)[round(0.9 * (len(seconds) - 1))]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--measure", type=Path, metavar="FOLDER", help="a model package")
    package = given.parse_args().measure
    if package is None:
        print(make_table())
        return
    for step, seconds in zip(STEPS, zip(*measure_process(package), strict=True), strict=True):
        p50, p90 = find_percentiles(seconds)
        print(f"{step:<32}p50 {p50:6.2f} s  p90 {p90:6.2f} s")


if __name__ == "__main__":
    main()
