"""One slide on one device and on all of them, by the same function as `tessera run`: tiles a second, and whether the
results are the same to the last byte. `python -m benchmarks.many_devices` on a machine with GPUs; `--device cpu` for
`stain-density` in this process and in two.

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

from benchmarks.workloads import DISTINCT, PATCHES, WORKLOADS, write
from client.computing import computing
from client.inputs import SlideInput
from client.local_run import run_slide
from client.opened import OpenedSlide
from client.shards import Computing, ModelToRun, Planned, Watched
from client.sources import Sources
from client.spread import Spread
from gpu_worker.all_devices import OneDevice, cuda_devices
from gpu_worker.decoding.choice import cores
from wsi.builtin_models import STAIN_DENSITY
from wsi.model_card import Activation, ModelCard, OutputColumn
from wsi.records.jobs import JobOptions

BATCH: Final = 256
#: Tiles of the slide before the measured one: kernels are chosen and graphs recorded on each device.
WARM: Final = 16 * BATCH
LOGIT: Final = 1000.0  #: of the heatmap's range
TABLES: Final = ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv")


def main(argv: Sequence[str] | None = None) -> int:
    asked = _asked(argv)
    devices = cuda_devices() if asked.device == "cuda" else [OneDevice(title=f"cpu:{n}", name="cpu") for n in range(2)]
    if not devices:
        sys.exit("There is no CUDA device here: --device cpu")
    print(f"{len(devices)} x {asked.device}, {cores()} cores: {', '.join(one.visible or one.title for one in devices)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = _network(folder) if asked.device == "cuda" else _densities()
        slides = [
            _slide(folder / "warm", WARM, asked.distinct),
            _slide(folder / "measured", asked.patches, asked.distinct),
        ]
        here = partial(computing, asked.device, [model], asked.workers)
        one = _arm("one device, this process", here, slides, model, folder / "one")
        scores = {row.split(b",", 4)[4] for row in one.tables["tiles.csv"].splitlines()[1:]}
        print(f"    {len(scores):,} different rows of scores")
        for count in sorted({1, len(devices)}):
            spread = partial(_spread, devices[:count], model, asked.workers)
            many = _arm(f"{count} of {len(devices)}, a process each", spread, slides, model, folder / str(count))
            same = many.tables == one.tables
            print(f"    {many.rate / one.rate:.2f} times one device in this process; equal bytes: {same}")
            if not same:
                return 1
    return 0


def _spread(devices: Sequence[OneDevice], model: ModelToRun, workers: int | None) -> AbstractContextManager[Computing]:
    return closing(Spread(devices, [model], workers, on_lost=print))


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    rate: float  #: tiles a second, from the plan to the last shard
    tables: dict[str, bytes] = field(repr=False)


class _Timed:
    """Seconds of computing alone: digest, tissue and tables are the same work whatever the devices."""

    def __init__(self, inner: Computing) -> None:
        self._inner = inner
        self.seconds = 0.0

    @property
    def devices(self) -> int:
        return self._inner.devices

    def compute(self, planned: Planned, model: ModelToRun, watched: Watched) -> None:
        began = time.perf_counter()
        self._inner.compute(planned, model, watched)
        self.seconds = time.perf_counter() - began


def _arm(
    name: str,
    where: Callable[[], AbstractContextManager[Computing]],
    slides: Sequence[Path],
    model: ModelToRun,
    out: Path,
) -> Arm:
    began = time.perf_counter()
    with where() as entered:
        ready = time.perf_counter() - began
        timed, tiles, whole = _Timed(entered), 0, 0.0
        for slide in slides:
            watched = Watched(
                stop=threading.Event(),
                on_planned=lambda count: None,
                on_tiles=lambda count: None,
                on_copy=lambda done, total: None,
            )
            began = time.perf_counter()
            with closing(OpenedSlide(SlideInput(location=str(slide)), Sources())) as opened:
                outcome = run_slide(
                    opened,
                    slide.parent.name,
                    out / slide.parent.name,
                    model,
                    computing=timed,
                    watched=watched,
                    options=JobOptions(),
                )
            tiles, whole = outcome.tiles - outcome.unreadable, time.perf_counter() - began
    rate = tiles / timed.seconds
    print(
        f"{name:28} {rate:10,.0f} tiles/s; {tiles:,} tiles in {timed.seconds:.1f} s, {whole:.1f} s with digest, tissue "
        f"and tables; models ready after {ready:.1f} s",
        flush=True,
    )
    measured = out / slides[-1].parent.name
    return Arm(rate=rate, tables={table: (measured / table).read_bytes() for table in TABLES})


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


def _asked(argv: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--patches", type=int, default=PATCHES)
    parser.add_argument("--distinct", type=int, default=DISTINCT)
    parser.add_argument("--workers", type=int, help="decoders of each device; its share of the cores, less 2")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
