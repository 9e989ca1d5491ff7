"""How far dry runs are off the plan's tile count: real masks and generated ones, any side, threshold and region.

    .venv/bin/python -m benchmarks.estimates [cases]

Prints percentiles of the error for counts of 40 tiles and more, and of the difference in tiles below; once by the table
that inspection keeps, once by the formula that stands in for it on slides inspected before there was one.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from tests.shared_slides import SHARED_SLIDES
from tests.wsi.plans import inspection
from wsi.boxes import box_sum
from wsi.builtin_models import STAIN_DENSITY
from wsi.counting import count_tiles
from wsi.errors import TesseraError
from wsi.estimate import estimate
from wsi.examination import examine
from wsi.grid import Region, make_grid, select_tiles
from wsi.records.jobs import JobOptions
from wsi.slide.opening import local_source, open_slide

Mask = NDArray[np.bool_]
FEW = 40  #: tiles; below, 5 % are fewer than two


def generated(rng: np.random.Generator) -> tuple[str, Mask, int, int]:
    """A mask of at most 2,048 px on a slide of 4,000 to 120,000 px."""
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
        field = (box_sum(field, grain if grain < min(shape) else 21) // 100).astype(np.int32)
    return kind, field > np.percentile(field, rng.uniform(40, 97)), width, height


def real() -> list[tuple[str, Mask, int, int]]:
    found: list[tuple[str, Mask, int, int]] = []
    for path in sorted(SHARED_SLIDES.rglob("*")):
        if path.suffix.lower() not in (".svs", ".tif", ".tiff", ".ndpi", ".scn", ".bif", ".mrxs"):
            continue
        try:
            with closing(open_slide(local_source(path), mpp=0.5)) as reader:
                seen = examine(reader)
        except (TesseraError, ValueError, OSError):
            continue
        found.append((path.name, seen.mask.pixels, seen.inspection.width, seen.inspection.height))
    return found


def case(mask: Mask, width: int, height: int, rng: np.random.Generator, counts: object) -> tuple[int, int, int] | None:
    """(planned, by the table, by the formula)."""
    side = int(2 ** rng.uniform(6, 11.5))
    if width * height / side**2 > 2**21:
        return None
    region: Region | None = None
    if rng.random() < 0.4:
        left, right = sorted(rng.integers(0, width, 2).tolist())
        top, bottom = sorted(rng.integers(0, height, 2).tolist())
        region = (left, top, right - left + 1, bottom - top + 1)
    least = float(rng.choice([0.0, 0.05, 0.1, 0.1, 0.1, 0.3, 0.5, 0.8, 1.0, rng.random()]))
    card = replace(STAIN_DENSITY, tile_px=side)
    plain = inspection(width, height, tissue_fraction=float(mask.mean()))
    grid = make_grid(plain, card, (0.5, 0.5))
    planned = len(select_tiles(grid, mask, width=width, height=height, min_tissue=least, region=region))
    options = JobOptions(min_tissue=least, region=region)
    by_table = estimate(replace(plain, tile_counts=counts), card, options, 1.0).tiles
    return planned, by_table, estimate(plain, card, options, 1.0).tiles


def report(name: str, found: list[tuple[int, int, int]]) -> None:
    many = np.array([row for row in found if row[0] >= FEW], dtype=float).reshape(-1, 3)
    few = np.array([row for row in found if row[0] < FEW], dtype=float).reshape(-1, 3)
    for label, column in (("table", 1), ("formula", 2)):
        line = f"{name:28s} {label:8s}"
        if len(many):
            off = np.abs(many[:, column] / many[:, 0] - 1) * 100
            within = (off <= 5).mean() * 100
            p50, p90, p99 = np.percentile(off, (50, 90, 99))
            line += f" {len(many):5d} cases: p50 {p50:5.2f} %  p90 {p90:6.2f} %  p99 {p99:6.2f} %"
            line += f"  within 5 %: {within:5.1f} %"
        if len(few):
            gap = np.abs(few[:, column] - few[:, 0])
            line += f" | {len(few)} small: p90 {np.percentile(gap, 90):.0f} tiles, most {gap.max():.0f}"
        print(line, flush=True)


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rng = np.random.default_rng(7)
    kinds: dict[str, list[tuple[int, int, int]]] = {}
    seconds, sizes = [], []
    for name, mask, width, height in [*real(), *(generated(rng) for _ in range(cases))]:
        began = time.perf_counter()
        counts = count_tiles(mask, width, height)
        seconds.append(time.perf_counter() - began)
        sizes.append(len(json.dumps(asdict(counts))))
        for _ in range(40):
            found = case(mask, width, height, rng, counts)
            if found is not None and any(found):
                kinds.setdefault(name, []).append(found)
    for name, found in kinds.items():
        report(name, found)
    report("all", [row for found in kinds.values() for row in found])
    print(f"table: {max(sizes)} bytes of JSON at most, {1000 * max(seconds):.0f} ms to make at most")


if __name__ == "__main__":
    main()
