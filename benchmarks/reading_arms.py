"""The arms of `benchmarks.reading`, one a process: `python -m benchmarks.reading_arms ARM HOW SLIDE URL LEFT TOP RIGHT
BOTTOM` prints its measurements as JSON."""

from __future__ import annotations

import json
import re
import resource
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.plans import plan_all_tiles
from tests.slide_server import range_reads, served
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.grid import order_tiles
from wsi.planning.plan import Plan
from wsi.planning.shards import MOST, compute_shard_offsets
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import RGB, SlideReader

SIDE: Final = 256  #: px of a patch at level 0
BATCH: Final = 32
PEERS: Final = 1_500  #: patches that the slower arms read
WORKERS: Final = 3  #: threads that decode: one more than there are cores here, since each waits for rows now and then
MEAN: Final = (0.485, 0.456, 0.406)
DEVIATION: Final = (0.229, 0.224, 0.225)
_PIXELS = np.tile(1 / (255 * np.array(DEVIATION, np.float32)), SIDE)
_SHIFT = np.tile(-np.array(MEAN, np.float32) / np.array(DEVIATION, np.float32), SIDE)


def measure_tessera(how: str, slide: Path, url: str, boxes: NDArray[np.int32]) -> dict[str, Any]:
    from benchmarks.batches import make_batches
    from inference.models.stains.density import StainDensity
    from inference.shard_task import ShardTask
    from wsi.slide.index import SlideIndex
    from wsi.slide.placement import place
    from wsi.slide.reads import ReadCounter, attach_counter

    reads = ReadCounter()
    reader = open_slide(attach_counter(served(range_reads(url), slide.parent, open_local_source(slide)), reads))
    opened = reads.requests, reads.bytes
    floats = np.empty((BATCH, SIDE, SIDE * 3), np.float32)
    plan = _plan(reader, boxes)
    model = StainDensity(plan.card)  # never runs: batches are only made for it
    works = [
        ShardTask.from_plan(plan, index, reader, model, stop=threading.Event())
        for index in range(len(plan.shard_sizes))
    ]
    count, mean = 0, 0.0
    began, cpu = time.perf_counter(), _cpu()
    for work, tiles, pixels in make_batches(works, workers=WORKERS):
        made = _normalise(pixels, floats) if how == "normalised" else pixels
        if work is works[0] and 0 in tiles:
            mean = float(made[int(np.flatnonzero(tiles == 0)[0])].mean(dtype=np.float64))
        count += len(tiles)
    took = {"seconds": time.perf_counter() - began, "cpu": _cpu() - cpu}
    index = SlideIndex.from_bytes(reader.serialize_index() or b"")
    assert index is not None
    pieces = index.levels[0].pieces
    info = reader.inspection.levels[0]
    needed = {int(tile) for work in works for tile in place(info, work.boxes, SIDE, SIDE).tiles}
    wanted = int(sum(pieces.sizes[place] for tile in needed for place in pieces.of(tile)))
    asked = {"requests": reads.requests - opened[0], "bytes": reads.bytes - opened[1], "wanted": wanted}
    return {"patches": count, "mean": mean, **took, **asked}


def _plan(reader: SlideReader, boxes: NDArray[np.int32]) -> Plan:
    """Plan these boxes, in the order and the shards that a plan has."""
    inspection = reader.inspection
    card = replace(STAIN_DENSITY, tile_px=SIDE, input_px=SIDE, mpp=inspection.mpp_x or 0.5, batch=BATCH)
    plan = plan_all_tiles(reader, card)
    assert plan.grid.level_side == SIDE
    order = order_tiles(boxes, plan.grid, inspection.levels[0])
    offsets = np.asarray(compute_shard_offsets(len(boxes), MOST), np.int32)
    return replace(plan, tiles=boxes, order=order, shard_offsets=offsets)


def _normalise(pixels: NDArray[np.uint8], floats: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise into a buffer that is reused, as one for upload to the GPU would be; patch by patch, which the CPU's
    cache holds."""
    for patch, into in zip(pixels.reshape(floats.shape), floats, strict=True):
        np.copyto(into, patch)
        into *= _PIXELS
        into += _SHIFT
    return floats


def measure_openslide(how: str, slide: Path, url: str, boxes: NDArray[np.int32]) -> dict[str, Any]:
    patches = _Patches(slide, boxes[:PEERS])
    floats = np.empty((1, SIDE, SIDE * 3), np.float32)
    mean = 0.0
    began, cpu = time.perf_counter(), _cpu()
    for place in range(len(patches)):
        pixels = patches[place][None]
        made = _normalise(pixels, floats) if how == "normalised" else pixels
        if not place:
            mean = float(made.mean(dtype=np.float64))
    return {"patches": len(patches), "seconds": time.perf_counter() - began, "cpu": _cpu() - cpu, "mean": mean}


def measure_dataloader(how: str, slide: Path, workers: int, boxes: NDArray[np.int32]) -> dict[str, Any]:
    from torch.utils.data import DataLoader
    from torchvision.transforms import Compose, Normalize, ToTensor

    normalise = Compose([ToTensor(), Normalize(MEAN, DEVIATION)]) if how == "normalised" else None
    patches = _Patches(slide, boxes[:PEERS], normalise)
    count, mean = 0, 0.0
    began, cpu = time.perf_counter(), _cpu()
    for made in DataLoader(patches, batch_size=BATCH, num_workers=workers):  # pyright: ignore[reportArgumentType]
        if not count:
            mean = float(made[0].double().mean())
        count += len(made)
    return {"patches": count, "seconds": time.perf_counter() - began, "cpu": _cpu() - cpu, "mean": mean}


class _Patches:
    """The dataset that most pipelines have: one OpenSlide handle a process, opened at first use."""

    def __init__(self, slide: Path, boxes: NDArray[np.int32], transform: Any = None) -> None:
        self._slide, self._boxes, self._transform = slide, boxes, transform
        self._handle: Any = None

    def __len__(self) -> int:
        return len(self._boxes)

    def __getitem__(self, place: int) -> RGB:
        from openslide import OpenSlide

        if self._handle is None:
            self._handle = OpenSlide(self._slide)
        x, y = self._boxes[place].tolist()
        picture = self._handle.read_region((x, y), 0, (SIDE, SIDE)).convert("RGB")
        return np.array(picture) if self._transform is None else self._transform(picture)


def measure_inspection(how: str, slide: Path, url: str) -> dict[str, Any]:
    from wsi.inspection.examination import examine
    from wsi.slide.reads import ReadCounter, attach_counter

    reads = ReadCounter()
    source = attach_counter(served(range_reads(url), slide.parent, open_local_source(slide)), reads)
    began, cpu = time.perf_counter(), _cpu()
    reader = open_slide(source)
    examine(reader)
    took = {"seconds": time.perf_counter() - began, "cpu": _cpu() - cpu}
    found = {"requests": reads.requests, "bytes": reads.bytes, **took}
    if how == "once":
        return found
    began = time.perf_counter()
    examine(open_slide(source, index=reader.serialize_index()))
    return {**found, "again": reads.requests - found["requests"], "again_seconds": time.perf_counter() - began}


def make_origins(left: int, top: int, right: int, bottom: int) -> NDArray[np.int32]:
    """Return the origins of the patches inside, [n, 2] px of level 0, by x, then y, as a plan lists them. Their grid
    begins at the slide's corner."""
    x, y = (
        np.arange(-(-low // SIDE), high // SIDE, dtype=np.int32) * SIDE for low, high in ((left, right), (top, bottom))
    )
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)


def measure_rows(slide: Path, url: str, count: int) -> dict[str, Any]:
    """Read the bytes of neighbouring file tiles: `count` whole rows of level 0 from its middle."""
    from wsi.slide.reads import ReadCounter, attach_counter

    reads = ReadCounter()
    reader = open_slide(attach_counter(served(range_reads(url), slide.parent, open_local_source(slide)), reads))
    info = reader.inspection.levels[0]
    columns, middle = -(-info.width // info.tile_width), info.height // info.tile_height // 2
    opened = reads.requests, reads.bytes
    tiles = reader.read_tiles(0, range(middle * columns, (middle + count) * columns))
    wanted = sum(len(piece) for tile in tiles for piece in tile.pieces)
    return {"requests": reads.requests - opened[0], "bytes": reads.bytes - opened[1], "wanted": wanted}


def _cpu() -> float:
    """Return the CPU seconds of this process and of its children that ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def _peak() -> int:
    """Return the peak resident memory of this process in bytes, or 0 if /proc does not state it."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def _measure_arm(arm: str, how: str, slide: Path, url: str, *box: int) -> dict[str, Any]:
    workers = int(arm.partition("-")[2] or 0)
    if arm == "inspection":
        found = measure_inspection(how, slide, url)
    elif arm == "rows":
        found = measure_rows(slide, url, *box)
    elif arm == "ours":
        found = measure_tessera(how, slide, url, make_origins(*box))
    elif arm == "openslide":
        found = measure_openslide(how, slide, url, make_origins(*box))
    else:
        found = measure_dataloader(how, slide, workers, make_origins(*box))
    # A DataLoader's workers are taken to be alike; pages that they share with their parent are counted twice.
    workers_peak = workers * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {**found, "peak": _peak() + workers_peak}


if __name__ == "__main__":
    _arm, _how, _slide, _url, *_box = sys.argv[1:]
    print(json.dumps(_measure_arm(_arm, _how, Path(_slide), _url, *map(int, _box))))
