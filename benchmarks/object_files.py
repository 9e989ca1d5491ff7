"""The cost of the files of objects: seconds and peak memory. `python -m benchmarks.object_files [OBJECTS ...]`.

Objects are drawn a block of a tile's at a time, about 40 vertices each, and streamed into a file on the disk, as
stitching does. Each row is a process of its own. The seconds are CPU seconds of the writer, without those of drawing;
the memory is the process's peak, with numpy and pyarrow.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.machine import describe_machine
from tests.wsi.objects.drawing import draw_objects
from tests.wsi.plans import inspection
from tests.wsi.results.objects.drawn import found_objects
from wsi.objects.table import ObjectTable, PixelLattice
from wsi.results.objects import geojson, parquet

WRITERS = {geojson.NAME: geojson.write, parquet.NAME: parquet.write}
A_TILE = 250  #: objects
SIDE = 100_000  #: px of level 0
SPREAD = 500  #: px of the lattice that a tile's objects are drawn over


@dataclass
class DrawnBlocks:
    """Objects of a slide, a tile's at a time, and the CPU seconds that it took to draw them."""

    objects: int
    seconds: float = field(default=0.0)

    def __iter__(self) -> Iterator[ObjectTable]:
        across = SIDE // 2 // SPREAD - 2
        for tile in range(-(-self.objects // A_TILE)):
            began = time.process_time()
            count = min(A_TILE, self.objects - tile * A_TILE)
            table = draw_objects(count, seed=tile, spread=SPREAD, classes=3)
            corner = np.array([tile // across % across, tile % across], np.int32) * SPREAD
            moved = replace(
                table,
                tiles=np.full(count, tile, np.int32),
                points=table.points + corner,
                centroids=table.centroids + corner,
                vertices=table.vertices + 2 * corner,
            )
            self.seconds += time.process_time() - began
            yield moved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objects", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--write", choices=WRITERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        print(json.dumps(measure_file(given.write, given.objects[0])))
        return
    print(describe_machine())
    print(f"{'file':20} {'objects':>10} {'CPU s':>8} {'objects/s':>10} {'peak MB':>8} {'file MB':>8}")
    for row in iterate_rows(given.objects):
        print(row, flush=True)


def iterate_rows(sizes: Iterable[int]) -> Iterator[str]:
    """Yield a line of the table for each file and size."""
    for name in WRITERS:
        for size in sizes:
            command = [sys.executable, "-m", "benchmarks.object_files", str(size), "--write", name]
            said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            yield (
                f"{name:20} {size:10,} {said['seconds']:8.2f} {size / said['seconds']:10,.0f}"
                f" {said['peak'] / 1e6:8.0f} {said['bytes'] / 1e6:8.1f}"
            )


def measure_file(name: str, objects: int) -> dict[str, float]:
    """Write one file in this process. Return the writer's CPU seconds, the process's peak and the file's size, both in
    bytes."""
    blocks = DrawnBlocks(objects)
    lattice = PixelLattice(step_x=2.0, step_y=2.0, mpp_x=0.25, mpp_y=0.25)
    found = found_objects(blocks, seen=inspection(SIDE, SIDE), classes=("Tumour", "Stroma", "Immune"), lattice=lattice)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        began = time.process_time()
        with path.open("w+b") as file:
            WRITERS[name](found, file)
        seconds = time.process_time() - began - blocks.seconds
        size = path.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return {"seconds": seconds, "peak": peak, "bytes": size}


if __name__ == "__main__":
    main()
