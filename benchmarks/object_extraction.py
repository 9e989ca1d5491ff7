"""Objects of dense outputs on one core: objects a second of each stage, and of all of them.

`python -m benchmarks.object_extraction [NUCLEI ...]`: so many drawn nuclei of 16 to 24 px in a window of 1,024 px that
keeps what its halo leaves. Dividing and extents are of all objects that the window shows; tracing and columns of those
that it gives, which is what "all" counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.cores import divide_objects
from wsi.objects.extracting import extract_objects
from wsi.objects.measuring import Pixels, measure_extents, measure_objects
from wsi.objects.tracing import trace_outlines
from wsi.objects.window import WindowGrid
from wsi.records.outputs import CoreRule, ObjectOutput

OUTPUT = ObjectOutput(
    classes=("tumour", "lymphocyte", "stroma"),
    rule=CoreRule(inside=128, core=140, least_core=6, reach=18),
    stride=8,
    margin=64,
    largest=64,
)
SIDE, TIMES = 1024, 5


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage's objects, and the CPU seconds that they took."""

    name: str
    objects: int
    seconds: float


def main(counts: list[int]) -> None:
    print("| nuclei drawn | stage | objects | ms | objects/s |\n|---|---|---|---|---|")
    for count in counts:
        for stage in measure_stages(draw_nuclei(count)):
            rate = stage.objects / stage.seconds
            print(f"| {count:,} | {stage.name} | {stage.objects:,} | {1000 * stage.seconds:.1f} | {rate:,.0f} |")


def measure_stages(maps: NDArray[np.uint8]) -> list[Stage]:
    kept = SIDE - 2 * OUTPUT.halo
    grid = WindowGrid.of(OUTPUT, kept_x=kept, kept_y=kept, slide_x=3 * kept, slide_y=3 * kept)
    window = grid.place_window(1, 1)
    box, margin = window.trusted, OUTPUT.margin
    means = maps[:, margin:-margin, margin:-margin]
    labels = divide_objects(means[0], means[1], OUTPUT.rule)
    number, pixels = int(labels.max()), Pixels.of(labels)
    given = len(extract_objects(maps, window, OUTPUT, 0).table)

    #: Those that the window gives, as a window of their own.
    names = np.zeros(number + 1, np.int32)
    extents = measure_extents(pixels, number, box)
    names[1:][(grid.locate_boxes(extents.points) == 1).all(1)] = 1
    names = np.cumsum(names, dtype=np.int32) * names
    own, points = pixels.rename(names), extents.points[names[1:] > 0]
    shown = names[labels]
    outlines = trace_outlines(shown, len(points))

    def columns() -> object:
        return measure_objects(own, points, (means[0], *means[2:]), outlines, box)

    return [
        Stage(
            name="dividing",
            objects=number,
            seconds=measure_seconds(lambda: divide_objects(means[0], means[1], OUTPUT.rule)),
        ),
        Stage(name="extents", objects=number, seconds=measure_seconds(lambda: measure_extents(pixels, number, box))),
        Stage(name="tracing", objects=given, seconds=measure_seconds(lambda: trace_outlines(shown, len(points)))),
        Stage(name="columns", objects=given, seconds=measure_seconds(columns)),
        Stage(
            name="**all**",
            objects=given,
            seconds=measure_seconds(lambda: extract_objects(maps, window, OUTPUT, 0)),
        ),
    ]


def draw_nuclei(count: int) -> NDArray[np.uint8]:
    """Return maps of a window with ellipses, some of which touch, over a little noise."""
    chance = np.random.default_rng(count)
    depth = np.zeros((SIDE, SIDE), np.float32)
    for y, x, radius, stretch in zip(
        *chance.uniform(0, SIDE, (2, count)),
        chance.uniform(8, 12, count),
        chance.uniform(0.8, 1.25, count),
        strict=True,
    ):
        top, left = max(int(y - 16), 0), max(int(x - 16), 0)
        here = (slice(top, int(y + 17)), slice(left, int(x + 17)))
        rows, columns = np.mgrid[here[0], here[1]]
        rows, columns = rows[: SIDE - top, : SIDE - left], columns[: SIDE - top, : SIDE - left]
        away = 1 - np.hypot((rows - y) * stretch, (columns - x) / stretch) / radius
        depth[here] = np.maximum(depth[here], away)
    noise = chance.integers(0, 20, (3 + len(OUTPUT.classes) - 1, SIDE, SIDE), np.uint8)
    noise[0] += np.where(depth > 0, 200, 0).astype(np.uint8)
    noise[1] += (depth * 235).astype(np.uint8)
    return noise


def measure_seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of `TIMES` calls."""
    taken: list[float] = []
    for _ in range(TIMES):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [300, 1000, 2000])
