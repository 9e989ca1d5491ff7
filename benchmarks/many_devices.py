"""One slide on one device and on all of them: tiles a second, and whether the results of all tiles are the same to the
last byte. `python -m benchmarks.many_devices` needs a machine with GPUs; `--device cpu` runs `stain-density` in this
process and in two. The function is that of `tessera run` until its tables are written: machines that are lent for their
GPUs lack a codec for those.

ResNet50 with two classes and seeded weights, in fp16, as a TorchScript package; workload A of `benchmarks.workloads`
(256-px JPEG tiles) from this disk. Needs torch, torchvision and the wheels of `benchmarks/device.txt`, no network.
Exit status 1: a byte differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.workloads import DISTINCT, PATCHES, WORKLOADS, write
from inference.all_devices import OneDevice, list_cuda_devices
from tessera.local_run.computing import open_runner
from tessera.local_run.inputs import SlideInput
from tessera.local_run.multi_gpu import MultiGpuRunner
from tessera.local_run.running import run_slide
from tessera.local_run.shards import ModelToRun, PlannedSlide, RunCallbacks, ShardRunner
from tessera.local_run.slide_session import SlideSession
from tessera.local_run.sources import Sources
from wsi.cores import count_available_cores
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.jobs import JobOptions
from wsi.records.model_card import Activation, ModelCard, OutputColumn

BATCH: Final = 256
#: Tiles of the slide before the measured one, on which each device chooses kernels and records graphs.
WARM: Final = 16 * BATCH
LOGIT: Final = 1000.0  #: of the heatmap's range


def main(argv: Sequence[str] | None = None) -> int:
    asked = _parse_arguments(argv)
    devices = (
        list_cuda_devices() if asked.device == "cuda" else [OneDevice(title=f"cpu:{n}", name="cpu") for n in range(2)]
    )
    if not devices:
        sys.exit("There is no CUDA device here: --device cpu")
    titles = ", ".join(one.visible or one.title for one in devices)
    print(f"{len(devices)} x {asked.device}, {count_available_cores()} cores: {titles}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = _network(folder) if asked.device == "cuda" else _densities()
        slides = [
            _slide(folder / "warm", WARM, asked.distinct),
            _slide(folder / "measured", asked.patches, asked.distinct),
        ]
        here = partial(open_runner, asked.device, [model], asked.workers)
        one = _arm("one device, this process", here, slides, model, folder / "one")
        scores = np.frombuffer(one.scores, "<f4").reshape(-1, one.columns)
        print(f"    {len(np.unique(scores, axis=0)):,} different rows of scores")
        for count in sorted({1, len(devices)}):
            several = partial(_multi_gpu, devices[:count], model, asked.workers)
            many = _arm(f"{count} of {len(devices)}, a process each", several, slides, model, folder / str(count))
            same = (many.scores, many.looks) == (one.scores, one.looks)
            print(f"    {many.rate / one.rate:.2f} times one device in this process; equal bytes: {same}")
            if not same:
                return 1
    return 0


def _multi_gpu(
    devices: Sequence[OneDevice], model: ModelToRun, workers: int | None
) -> AbstractContextManager[ShardRunner]:
    return closing(MultiGpuRunner(devices, [model], workers, on_lost=print))


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    tiles: int
    seconds: float  #: from the plan to the last shard
    scores: bytes = field(repr=False)  #: float32 of each tile and column, in the order of tiles
    columns: int
    looks: bytes = field(repr=False)  #: of each tile, the values that `tile_quality.csv` lists

    @property
    def rate(self) -> float:
        return self.tiles / self.seconds


class _Computed(Exception):
    """The end of a measured run: its shards are computed, and the rest is the same work on any devices."""

    def __init__(self, arm: Arm) -> None:
        super().__init__()
        self.arm = arm


class _Timed:
    def __init__(self, inner: ShardRunner) -> None:
        self._inner = inner

    @property
    def devices(self) -> int:
        return self._inner.devices

    def compute(self, planned: PlannedSlide, model: ModelToRun, callbacks: RunCallbacks) -> None:
        """Compute the slide's shards, then raise _Computed with what was measured."""
        began = time.perf_counter()
        self._inner.compute(planned, model, callbacks)
        seconds = time.perf_counter() - began
        shards = [planned.checkpoint.read_shard(index) for index in range(len(planned.plan.shard_sizes))]
        order = np.argsort(np.concatenate([shard.tiles for shard in shards]))
        raise _Computed(
            Arm(
                tiles=len(order),
                seconds=seconds,
                scores=np.concatenate([shard.scores for shard in shards])[order].tobytes(),
                columns=len(model.card.columns),
                looks=np.concatenate([shard.quality for shard in shards if shard.quality is not None])[order].tobytes(),
            )
        )


def _arm(
    name: str,
    where: Callable[[], AbstractContextManager[ShardRunner]],
    slides: Sequence[Path],
    model: ModelToRun,
    out: Path,
) -> Arm:
    """Run the slides in turn, and return the measurements of the last one."""
    began = time.perf_counter()
    with where() as entered:
        ready = time.perf_counter() - began
        *_, arm = [_run(slide, out / slide.parent.name, model, _Timed(entered)) for slide in slides]
    print(f"{name:28} {arm.rate:10,.0f} tiles/s; {arm.tiles:,} tiles in {arm.seconds:.1f} s; models ready after "
          f"{ready:.1f} s", flush=True)  # fmt: skip
    return arm


def _run(slide: Path, out: Path, model: ModelToRun, timed: _Timed) -> Arm:
    callbacks = RunCallbacks(
        stop=threading.Event(),
        on_planned=lambda count: None,
        on_tiles=lambda count: None,
        on_copy=lambda done, total: None,
    )
    with closing(SlideSession(SlideInput(location=str(slide)), Sources())) as opened:
        try:
            run_slide(opened, "slide", out, model, computing=timed, callbacks=callbacks, options=JobOptions())
        except _Computed as computed:
            return computed.arm
    raise RuntimeError("the slide holds no tissue")


def _slide(folder: Path, patches: int, distinct: int) -> Path:
    folder.mkdir()
    return write(folder, WORKLOADS["A"], patches=patches, distinct=distinct).path


def _densities() -> ModelToRun:
    return ModelToRun(card=STAIN_DENSITY, package=None, device="cpu", threads=1)


def _network(folder: Path) -> ModelToRun:
    import torch
    from torchvision.models import resnet50

    from benchmarks.peers import DEVIATION, MEAN

    torch.manual_seed(0)
    package = folder / "package"
    package.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is the format that the zoo has
        torch.jit.script(resnet50(weights=None, num_classes=2).eval()).save(str(package / "torchscript_model.pt"))
    card: ModelCard = replace(
        STAIN_DENSITY,
        name="resnet50",
        digest="00" * 32,
        kind="torchscript",
        tile_px=256,
        input_px=256,
        mpp=0.5,
        # Logits: a softmax of seeded weights is 0 or 1, and would say little of equal bytes.
        columns=tuple(OutputColumn(name=name, low=-LOGIT, high=LOGIT) for name in ("logit_0", "logit_1")),
        activation=Activation.NONE,
        mean=MEAN,
        std=DEVIATION,
        batch=BATCH,
        precision="fp16",
        tiles_per_second=1_000.0,
    )
    return ModelToRun(card=card, package=package, device="cuda", threads=1)


def _parse_arguments(argv: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--patches", type=int, default=PATCHES)
    parser.add_argument("--distinct", type=int, default=DISTINCT)
    parser.add_argument("--workers", type=int, help="decoders of each device; its share of the cores, less 2")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
