"""Stain normalisation on the CPU and on a GPU: milliseconds a tile, and the difference of their greys.

`python -m benchmarks.stain_normalisation [cuda]`: 64 drawn tiles of 224 px, one thread on the CPU; on a GPU as a
recorded graph, as networks run there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from inference.models.stains.normalisation import StainNormaliser
from tests.tissue import stained_tissue
from wsi.records.stain_normalisation import PUBLISHED, Reinhard

TILES, SIDE, TIMES = 64, 224, 3


def main(device: torch.device) -> None:
    torch.set_num_threads(1)
    tiles = torch.from_numpy(stained_tissue(TILES, SIDE))
    print("| method | ms a tile, CPU | ms a tile, GPU | greys that differ | by at most |\n|---|---|---|---|---|")
    for stated in (PUBLISHED, Reinhard(means=(66.0, 21.5, -12.25), stds=(13.5, 8.0, 5.5))):
        on_cpu = StainNormaliser(stated, torch.device("cpu"))
        row = [stated.method, f"{1000 * measure_seconds(partial(on_cpu, tiles)) / TILES:.2f}"]
        if device.type == "cuda":
            made, replay = record_graph(StainNormaliser(stated, device), tiles.to(device))
            apart = np.abs(made.cpu().numpy().astype(int) - on_cpu(tiles).numpy())
            row += [f"{1000 * measure_seconds(replay) / TILES:.3f}", f"{(apart > 0).mean():.1e}", str(apart.max())]
        print(f"| {' | '.join(row)} |")


def record_graph(normaliser: StainNormaliser, tiles: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None]]:
    """Record the normalisation as a CUDA graph; return its output and a function that replays it."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.stream(stream):
        normaliser(tiles)
        with torch.cuda.graph(graph, stream=stream):
            made = normaliser(tiles)

    def replay() -> None:
        with torch.cuda.stream(stream):
            graph.replay()
        stream.synchronize()

    replay()
    return made, replay


def measure_seconds(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest of `TIMES` calls."""
    taken: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return min(taken)


if __name__ == "__main__":
    main(torch.device(sys.argv[1] if len(sys.argv) > 1 else "cpu"))
