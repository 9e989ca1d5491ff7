"""Networks on the CPU, ours next to plain torch with channels first: `python -m benchmarks.cpu_networks [NAME …]`.

Random weights, batches of 16 tiles of 224 px, fp32, 1 and 2 threads, the best of three. Ours includes what comes
before the network (normalisation and layout, from 8 bits) and after it; plain torch is the network alone.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import timm
import torch

from benchmarks.model_loading import write_package
from inference.models.package import read_package
from inference.models.registry import load_model
from wsi.numerics import NUMERICS_VERSION
from wsi.planning.plan import Numerics

ARCHITECTURES = ("efficientnet_lite0", "resnet18", "resnet50", "vit_small_patch16_224")
BATCH = 16


def main(names: list[str]) -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    print("architecture               threads  torch, tiles/s  ours, tiles/s")
    for name in names:
        module = timm.create_model(name, num_classes=2).eval()
        with tempfile.TemporaryDirectory() as folder:
            package = write_package(Path(folder) / "package", name)
            model = load_model(read_package(package), package, "cpu")
            for threads in (1, 2):
                pixels = np.random.default_rng(0).integers(0, 256, (BATCH, 224, 224, 3), np.uint8)
                numerics = Numerics(version=NUMERICS_VERSION, precision="fp32", batch=BATCH, threads=threads)
                torch.set_num_threads(threads)
                planes = torch.rand(BATCH, 3, 224, 224)
                with torch.inference_mode():
                    plain = measure_rate(partial(module, planes))
                ours = measure_rate(partial(model.infer, pixels, numerics))
                print(f"{name:25}  {threads:7}  {plain:14.1f}  {ours:13.1f}  {ours / plain - 1:+.0%}", flush=True)


def measure_rate(call: Callable[[], object]) -> float:
    """Return the tiles a second of the fastest of three calls, after one that is not timed."""
    call()
    seconds: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return BATCH / min(seconds)


if __name__ == "__main__":
    main(sys.argv[1:] or list(ARCHITECTURES))
