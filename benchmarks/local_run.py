"""A slide of 10,000 tiles: `tessera run`, and next to it the peers' way. `python -m benchmarks.local_run`.

The peers' way: one OpenSlide handle, `read_region` for each tile of the same grid, the same densities, in one process.
Both read the same file from a warm disk. The peers' way reads the first 2,000 tiles and writes no tables.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import openslide

from inference.models.stains.density import measure_densities
from tests.slides import write_svs

SIDE = 100 * 256  #: px; 10,000 tiles of 256 px at 0.5 µm, all of them tissue
WORKERS = 2


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        slide = write_svs(folder / "slide.svs", width=SIDE, height=SIDE, levels=(1, 4, 16), tissue=(0, 0, SIDE, SIDE))
        print(f"{platform.machine()}, {os.cpu_count()} cores, slide of {slide.stat().st_size / 1e6:.0f} MB")
        measure_tessera(slide, folder / "out")
        measure_openslide(slide, tiles=2_000)


def measure_tessera(slide: Path, out: Path) -> None:
    command = [sys.executable, "-m", "tessera", "run", str(slide), "--model", "stain-density", "--out", str(out)]
    began = time.perf_counter()
    child = subprocess.Popen(
        [*command, "--workers", str(WORKERS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    assert child.returncode == 0, "tessera run failed"
    summary = json.loads((out / "summary.json").read_text())
    tiles, took = summary["tiles"]["inferred"], summary["run"]["inference"]
    print(
        f"tessera run: {tiles:,} tiles in {wall:.1f} s with start, digest, tissue, tables and heatmap"
        f" ({tiles / took['seconds']:,.0f} tiles/s while computing),"
        f" {tiles / (usage.ru_utime + usage.ru_stime):,.0f} tiles per CPU second,"
        f" {took['requests']:,} reads of {took['bytes'] / 1e6:.0f} MB, {usage.ru_maxrss / 1024:.0f} MB at most"
    )


def measure_openslide(slide: Path, *, tiles: int) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    with openslide.OpenSlide(slide) as handle:
        for tile in range(tiles):
            row, column = divmod(tile, SIDE // 256)
            region = handle.read_region((column * 256, row * 256), 0, (256, 256)).convert("RGB")
            measure_densities(np.asarray(region))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"OpenSlide, one process: {tiles:,} tiles in {wall:.1f} s ({tiles / wall:,.0f} tiles/s),"
        f" {tiles / cpu:,.0f} tiles per CPU second"
    )


if __name__ == "__main__":
    main()
