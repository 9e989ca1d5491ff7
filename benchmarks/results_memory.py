"""The memory of stitching by the size of a slide: seconds, CPU seconds, peak memory and bytes of the result files.

`python -m benchmarks.results_memory [--vectors N ...] [--stored fp16|fp32] [--dimensions D] [--objects N ...]`.

The shards' results lie in a folder, as workers write them: vectors of random numbers, or drawn nuclei of 40 vertices,
250 to a tile. `stitch_job` reads them from there and puts the result files back, in a process of its own for each row;
the ledger is in memory. The peak is that process's, with Python and its libraries. Vectors take three times their
bytes of disk: the shards, the rows on their way, and the file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.machine import describe_machine
from benchmarks.one_job import JOB, TENANT, make_job
from benchmarks.stitching import OneJobLedger
from inference.memory import read_peak_bytes
from tests.wsi.objects.drawing import draw_objects
from tests.wsi.plans import inspection, plan
from wsi import keys
from wsi.models.builtin import EFFICIENTNET_LITE0, NUCLEI
from wsi.objects.found import FoundObjects, Sight
from wsi.objects.part_table import PartTable
from wsi.objects.table import ObjectTable
from wsi.planning.plan import Plan
from wsi.ports.ledger import StitchBrief
from wsi.records.model_card import ModelCard
from wsi.records.outputs import EmbeddingOutput, Stored
from wsi.records.shards import ShardOutput
from wsi.results.shard_result import Numbers, ShardResult, get_float_type
from wsi.results.stitching import stitch_job
from wsi.states import JobState

SIZES: Final = (10_000, 100_000, 1_000_000)
A_TILE: Final = 250  #: objects
DRAWN: Final = 64  #: tiles of drawn objects, which come again and again at other places


@dataclass(frozen=True, kw_only=True, slots=True)
class Stitched:
    """The time and memory that stitching a job took, and the result files."""

    seconds: float
    cpu_seconds: float
    imported: int  #: bytes of memory before the call
    peak: int  #: bytes
    files: dict[str, int]  #: name -> bytes


class FolderObjects:
    """The part of `Objects` that stitching calls, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes:
        return (self._folder / key).read_bytes()

    def put_file(self, key: str, path: Path, *, media_type: str) -> None:
        """Move the file into the folder."""
        self.write(key, b"")
        path.replace(self._folder / key)

    def write(self, key: str, data: bytes) -> None:
        (self._folder / key).parent.mkdir(parents=True, exist_ok=True)
        (self._folder / key).write_bytes(data)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vectors", nargs="*", type=int, default=SIZES, metavar="TILES")
    parser.add_argument("--stored", nargs="*", type=Stored, default=tuple(Stored))
    parser.add_argument("--dimensions", type=int, default=1280)
    parser.add_argument("--objects", nargs="*", type=int, default=SIZES)
    parser.add_argument("--shard-tiles", type=int, help="of vectors; else as many as planning chooses")
    parser.add_argument("--folder", type=Path, help="for the shards and files; else the system's for temporary files")
    parser.add_argument("--stitch", nargs=2, metavar=("FOLDER", "SHARDS"), help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.stitch:
        print(json.dumps(stitch_folder(Path(given.stitch[0]), int(given.stitch[1]))))
        return
    print(describe_machine())
    print(f"{'':28} {'shards':>7} {'MB':>7} {'s':>7} {'CPU s':>7} {'us each':>8} {'peak MB':>8}  files, MB")

    def measure(name: str, size: int, made: Plan, make: Callable[[Plan, int], ShardResult]) -> None:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            size_of_shards = write_shards(Path(folder), made, make)
            print_row(name, size, made, size_of_shards, measure_stitching(Path(folder), len(made.shard_sizes)))

    for stored in given.stored:
        for tiles in given.vectors:
            measure(f"{tiles:,} {stored} vectors", tiles, plan_vectors(tiles, given, stored), draw_vectors)
    for objects in given.objects:
        measure(f"{objects:,} objects", objects, plan_objects(objects), draw_shard)


def print_row(name: str, size: int, made: Plan, size_of_shards: int, took: Stitched) -> None:
    files = ", ".join(f"{file} {each / 1e6:,.1f}" for file, each in took.files.items() if each > 1e4)
    print(
        f"{name:28} {len(made.shard_sizes):7,} {size_of_shards / 1e6:7,.0f} {took.seconds:7.1f} {took.cpu_seconds:7.1f}"
        f" {took.cpu_seconds / size * 1e6:8.1f} {took.peak / 1e6:8.0f}  {files} (import {took.imported / 1e6:.0f})",
        flush=True,
    )


def plan_vectors(tiles: int, given: argparse.Namespace, stored: Stored) -> Plan:
    """Plan a square slide of at least so many tiles with a vector each."""
    output = EmbeddingOutput(dimensions=given.dimensions, pooling="cls", stored=stored)
    card = replace(EFFICIENTNET_LITE0, embedding=output)
    return plan_square(card, card.tile_px, tiles, shard_tiles=given.shard_tiles)


def plan_objects(objects: int) -> Plan:
    """Plan a square slide of at least so many windows that `A_TILE` objects each are enough."""
    assert NUCLEI.objects is not None
    return plan_square(NUCLEI, NUCLEI.input_px - 2 * NUCLEI.objects.halo, -(-objects // A_TILE))


def plan_square(card: ModelCard, side: int, tiles: int, *, shard_tiles: int | None = None) -> Plan:
    across = int(np.ceil(tiles**0.5))
    seen = inspection(across * side, -(-tiles // across) * side, mpp=card.mpp, tile=256)
    made = plan(seen, card=card, shard_tiles=shard_tiles, mask=np.ones((2048, 2048), np.bool_))
    assert tiles <= len(made.tiles) < tiles + across, len(made.tiles)
    return made


def write_shards(folder: Path, made: Plan, make: Callable[[Plan, int], ShardResult]) -> int:
    """Write the plan and the result of each shard. Return the bytes of the results."""
    objects, size = FolderObjects(folder), 0
    objects.write(keys.of_plan(TENANT, JOB), made.to_bytes())
    for index in range(len(made.shard_sizes)):
        data = make(made, index).to_bytes()
        objects.write(keys.of_shard_result(TENANT, JOB, index, 1), data)
        size += len(data)
    return size


def draw_vectors(made: Plan, index: int) -> ShardResult:
    numbers = made.shard_tiles(index)
    draw = np.random.default_rng(index)
    rows: Numbers = draw.random((len(numbers), made.card.width), np.float32).astype(get_float_type(made.card))
    return make_result(made, index, rows, None)


def draw_shard(made: Plan, index: int) -> ShardResult:
    """Draw the objects of each tile of the shard within the tile's own box."""
    numbers, kept = made.shard_tiles(index), made.grid.kept_px
    tables: list[ObjectTable] = []
    for tile in sorted(numbers.tolist()):
        drawn = draw_objects(A_TILE, seed=tile % DRAWN, spread=kept - 200)
        corner = made.tiles[tile] // made.grid.side * kept
        tables.append(
            replace(
                drawn,
                tiles=np.full(A_TILE, tile, np.int32),
                points=drawn.points + corner,
                centroids=drawn.centroids + corner,
                vertices=drawn.vertices + 2 * corner,
            )
        )
    table = ObjectTable.join(tables)
    found = FoundObjects(
        table=table, sights=np.full(len(table), Sight.OWN, np.uint8), parts=PartTable.make_empty(table.chances.shape[1])
    )
    return make_result(made, index, np.zeros((len(numbers), 0), np.float32), found)


def make_result(made: Plan, index: int, rows: Numbers, found: FoundObjects | None) -> ShardResult:
    numbers = made.shard_tiles(index)
    quality = np.random.default_rng(index).random((len(numbers), 4), dtype=np.float32)
    return ShardResult(
        plan_digest=made.digest, tiles=numbers, scores=rows, unreadable={}, quality=quality, objects=found
    )


def measure_stitching(folder: Path, shards: int) -> Stitched:
    """Stitch the job of the folder in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.results_memory", "--stitch", str(folder), str(shards)]
    scratch = folder / "scratch"  # beside the shards, whatever disk the system's temporary files are on
    scratch.mkdir()
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "TMPDIR": str(scratch)}
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return Stitched(**said)


def stitch_folder(folder: Path, shards: int) -> dict[str, Any]:
    """Run `stitch_job` in this process. Return the fields of `Stitched`."""
    outputs = tuple(
        ShardOutput(index=index, result_key=keys.of_shard_result(TENANT, JOB, index, 1), tiles=0)
        for index in range(shards)
    )
    ledger = OneJobLedger(StitchBrief(job=make_job(JobState.STITCHING), shards=outputs))
    imported = read_peak_bytes()
    began, cpu = time.perf_counter(), time.process_time()
    done = stitch_job(
        JOB,
        ledger=ledger,  # pyright: ignore[reportArgumentType] — stitching calls three of its methods
        objects=FolderObjects(folder),  # pyright: ignore[reportArgumentType] — and two of these
    )
    assert done, "the job failed"
    return {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
        "imported": imported,
        "peak": read_peak_bytes(),
        "files": {file.name: file.size for file in ledger.results},
    }


if __name__ == "__main__":
    main()
