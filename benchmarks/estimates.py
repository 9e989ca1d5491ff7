"""The counts of dry runs next to the plan's: real and generated masks, any side, threshold and region, drawn ones too.

    .venv/bin/python -m benchmarks.estimates [cases]

A dry run counts the tiles of the plan, so the number of cases that differ must be 0. Also printed are the CPU time of a
count, and the error of the guess that replaces it on slides without a stored mask.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tests.shared_slides import SHARED_SLIDES
from tests.wsi.plans import inspection
from wsi.errors import TesseraError
from wsi.inspection.boxes import compute_box_sums
from wsi.inspection.examination import examine
from wsi.inspection.mask import SlideMask
from wsi.inspection.stored_mask import StoredMask
from wsi.models.builtin import STAIN_DENSITY
from wsi.numerics import TISSUE_VERSION
from wsi.planning.drawn_mask import draw_mask
from wsi.planning.dry_run import estimate
from wsi.planning.grid import Region, make_grid, select_tiles
from wsi.records.jobs import JobOptions
from wsi.records.outline import Outline
from wsi.slide.opening import open_local_source, open_slide

Mask = NDArray[np.bool_]
FEW = 40  #: tiles; the error of a guess of fewer says nothing


def generate_mask(rng: np.random.Generator) -> tuple[str, Mask, int, int]:
    """Return (kind, mask, width, height): a mask of at most 2,048 px a side, a slide of about 4,000 to 120,000 px."""
    width, height = (int(2 ** rng.uniform(12, 16.9)) for _ in range(2))
    height = int(np.clip(height, width // 4, width * 4))
    scale = 2048 / max(width, height)
    shape = max(1, round(height * scale)), max(1, round(width * scale))
    kind = str(rng.choice(["pieces", "crumbs", "cores", "strips", "whole", "edge"]))
    y, x = np.mgrid[: shape[0], : shape[1]]
    if kind == "cores":
        pitch = int(rng.integers(60, 240))
        return kind, ((y % pitch - pitch / 2) ** 2 + (x % pitch - pitch / 2) ** 2) < (pitch * 0.3) ** 2, width, height
    if kind == "strips":
        bend = 40 * np.sin(y / 150)
        return kind, np.abs((x + bend) % 500 - 250) < rng.integers(15, 60), width, height
    if kind == "whole":
        return kind, np.ones(shape, bool), width, height
    grain = {"pieces": 301, "crumbs": 41, "edge": 601}[kind]
    field = rng.integers(-1000, 1000, shape).astype(np.int32)
    for _ in range(2):
        field = (compute_box_sums(field, grain if grain < min(shape) else 21) // 100).astype(np.int32)
    return kind, field > np.percentile(field, rng.uniform(40, 97)), width, height


def examine_real_slides() -> list[tuple[str, Mask, int, int]]:
    found: list[tuple[str, Mask, int, int]] = []
    for path in sorted(SHARED_SLIDES.rglob("*")):
        if path.suffix.lower() not in (".svs", ".tif", ".tiff", ".ndpi", ".scn", ".bif", ".mrxs"):
            continue
        try:
            with closing(open_slide(open_local_source(path), mpp=0.5)) as reader:
                seen = examine(reader)
        except (TesseraError, ValueError, OSError):
            continue
        found.append((path.name, seen.mask.pixels, seen.inspection.width, seen.inspection.height))
    return found


@dataclass(frozen=True, slots=True)
class Counted:
    planned: int
    counted: int
    guessed: int | None  #: without a mask; None for a drawn region, which needs none
    boxes: int  #: of the whole grid
    seconds: float  #: of CPU, from the stored bytes to the answer


def draw_outline(rng: np.random.Generator, width: int, height: int) -> Outline:
    """Return a wobbling outline of up to 20,000 points around a random place."""
    angles = np.linspace(0, 2 * math.pi, int(rng.integers(4, 20_000)))[:-1]
    radius = min(width, height) * rng.uniform(0.05, 0.5) * (1 + 0.2 * np.sin(rng.integers(1, 40) * angles))
    x, y = rng.uniform(0, width) + radius * np.cos(angles), rng.uniform(0, height) + radius * np.sin(angles)
    points = [(float(at), float(down)) for at, down in zip(x, y, strict=True)]
    return Outline((((*points, points[0]),),))


def count_case(mask: Mask, kept: bytes, width: int, height: int, rng: np.random.Generator) -> Counted | None:
    """Plan and count a random case. Return None if its grid has more than 2**21 boxes, which would take too long."""
    side = int(2 ** rng.uniform(6, 11.5))
    if width * height / side**2 > 2**21:
        return None
    region: Region | None = None
    if rng.random() < 0.4:
        left, right = sorted(rng.integers(0, width, 2).tolist())
        top, bottom = sorted(rng.integers(0, height, 2).tolist())
        region = (left, top, right - left + 1, bottom - top + 1)
    outline = draw_outline(rng, width, height) if rng.random() < 0.1 else None
    least = float(rng.choice([0.0, 0.05, 0.1, 0.1, 0.1, 0.3, 0.5, 0.8, 1.0, rng.random()]))
    card = replace(STAIN_DENSITY, tile_px=side)
    seen = inspection(width, height, tissue_fraction=float(mask.mean()))
    options = JobOptions(min_tissue=least, region=region, outline=outline)
    grid = make_grid(seen, card, (0.5, 0.5))
    pixels = draw_mask(outline, seen).pixels if outline else mask
    planned = len(select_tiles(grid, pixels, width=width, height=height, min_tissue=least, region=region))
    began = time.process_time()
    counted = estimate(seen, card, options, 1.0, stored=StoredMask.from_bytes(kept, []))
    seconds = time.process_time() - began
    assert counted.exact
    guessed = None if outline else estimate(seen, card, options, 1.0, stored=None).tiles
    return Counted(planned, counted.tiles, guessed, grid.columns * grid.rows, seconds)


def report(name: str, found: Sequence[Counted]) -> None:
    differ = sum(each.planned != each.counted for each in found)
    most = max(each.seconds for each in found)
    off = [
        abs(each.guessed / each.planned - 1) * 100 for each in found if each.guessed is not None and each.planned >= FEW
    ]
    line = f"{name:28s} {len(found):5d} cases, {differ} differ from the plan; {most:.2f} s at most"
    if off:
        p50, p90 = np.percentile(off, (50, 90))
        line += f" | guessed: p50 {p50:5.1f} %  p90 {p90:6.1f} %"
    print(line, flush=True)


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rng = np.random.default_rng(7)
    kinds: dict[str, list[Counted]] = {}
    sizes: list[int] = []
    for name, mask, width, height in [*examine_real_slides(), *(generate_mask(rng) for _ in range(cases))]:
        settings = {"version": TISSUE_VERSION}
        kept = StoredMask(inspection(width, height), SlideMask(mask, settings=settings)).to_bytes([])
        sizes.append(len(kept))
        for _ in range(40):
            found = count_case(mask, kept, width, height, rng)
            if found is not None:
                kinds.setdefault(name, []).append(found)
    for name, found in kinds.items():
        report(name, found)
    everything = [each for found in kinds.values() for each in found]
    report("all", everything)
    for low, high in ((0, 10_000), (10_000, 100_000), (100_000, 2**21)):
        seconds = [each.seconds for each in everything if low < each.boxes <= high]
        print(f"{low:,} to {high:,} boxes: {np.median(seconds):.2f} s, {max(seconds):.2f} s at most")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"stored: {max(sizes):,} bytes at most; peak memory {peak} MiB, numpy and slides included")


if __name__ == "__main__":
    main()
