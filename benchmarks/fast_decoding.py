"""The gain and the cost of `fast`: the same boxes of a generated slide, decoded whole and resized once, and decoded at
half size by JPEG's own scaling. `python -m benchmarks.fast_decoding [SLIDE.svs MPP]` takes that slide, at MPP um a
pixel, instead of generated ones.

Slide at 0.25 um a pixel, model at 0.5: boxes of 512 px for an input of 256. Seconds are CPU seconds of one decoding
thread and the assembly. The exact path's resize is timed separately, since it runs on the model's device.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.batches import make_batches
from inference.models.stains.density import StainDensity, measure_densities
from inference.shard_task import ShardTask
from tests.slides import write_svs
from wsi.inspection.examination import examine
from wsi.jobs.planning import make_plan
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.resample import resize
from wsi.slide.slide import SlideReader

SIDE = 12_000  #: px of the slide
INPUT = 256  #: px of the model
ROUNDS = 3


def main() -> None:
    if len(sys.argv) == 3:
        _measure(sys.argv[1], Path(sys.argv[1]), float(sys.argv[2]))
        return
    with TemporaryDirectory() as folder:
        for name, rgb in (("YCbCr 4:2:0", False), ("RGB 4:4:4", True)):
            path = write_svs(
                Path(folder) / "slide.svs", width=SIDE, height=SIDE, mpp=0.25, rgb=rgb, quality=80, pool=64
            )
            _measure(name, path, None)


def _measure(name: str, path: Path, mpp: float | None) -> None:
    with closing(open_slide(open_local_source(path), mpp=mpp)) as reader:
        exact, fast = (_plan_slide(reader, fast=fast) for fast in (False, True))
        sides = f"{exact.grid.level_side} px, {fast.grid.level_side} px at reduction {fast.grid.reduction}"
        print(f"{name}: {len(exact.tiles):,} boxes of {sides}")
        _speed(reader, exact, fast)
        _difference(reader, exact, fast)


def _speed(reader: SlideReader, exact: Plan, fast: Plan) -> None:
    rates: dict[str, list[float]] = {"whole": [], "fast": []}
    for _ in range(ROUNDS):
        for name, plan in (("whole", exact), ("fast", fast)):
            began = time.process_time()
            for _ in _batches(reader, plan):
                pass
            rates[name].append(len(plan.tiles) / (time.process_time() - began))
    whole, halved = (max(rates[name]) for name in ("whole", "fast"))
    print(f"  decode and assembly: {whole:,.0f} and {halved:,.0f} boxes a CPU-second: {halved / whole:.2f} times")
    pixels = np.random.default_rng(0).integers(0, 256, (32, 2 * INPUT, 2 * INPUT, 3), np.uint8)
    began = time.process_time()
    resize(pixels, INPUT)
    resized = len(pixels) / (time.process_time() - began)
    print(f"  the exact path's resize, where the CPU does it: {resized:,.0f} boxes a CPU-second")


def _difference(reader: SlideReader, exact: Plan, fast: Plan) -> None:
    off = np.zeros(256, np.int64)
    densities_off: list[NDArray[np.float32]] = []
    boxes = dict(_boxes(reader, fast))
    for tile, pixels in _boxes(reader, exact):
        small = resize(pixels[None], INPUT)[0].round().astype(np.uint8)
        difference = np.abs(small.astype(np.int16) - boxes[tile])
        off += np.bincount(difference.ravel(), minlength=256)
        densities_off.append(np.abs(measure_densities(small) - measure_densities(boxes[tile])))
    share = np.cumsum(off) / off.sum()
    print(f"  to one antialiased resize: mean {(off * np.arange(256)).sum() / off.sum():.2f}, "
          f"99 % within {np.searchsorted(share, 0.99)}, most {np.flatnonzero(off).max()} of 255")  # fmt: skip
    means, most = np.mean(densities_off, axis=0), np.max(densities_off, axis=0)
    for number, column in enumerate(STAIN_DENSITY.columns):
        print(f"  {column.name}: mean {means[number]:.4f}, most {most[number]:.4f}")


def _plan_slide(reader: SlideReader, *, fast: bool) -> Plan:
    return make_plan(
        slide_digest="",
        slide_uris=(),
        reader=reader,
        examination=examine(reader),
        card=STAIN_DENSITY,
        package_uri=None,
        options=JobOptions(fast=fast),
        shard_tiles=None,
        threads=1,
    )


def _batches(reader: SlideReader, plan: Plan) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
    """Yield the (tile numbers, pixels) of each batch as the model would get them."""
    for index in range(len(plan.shard_sizes)):
        work = ShardTask.from_plan(plan, index, reader, StainDensity(plan.card), stop=threading.Event())
        for _, tiles, pixels in make_batches([work], workers=1):
            yield tiles, pixels


def _boxes(reader: SlideReader, plan: Plan) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    for tiles, pixels in _batches(reader, plan):
        yield from zip(tiles.tolist(), pixels, strict=False)


if __name__ == "__main__":
    main()
