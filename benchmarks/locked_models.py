"""Measures the cost of a locked process for a model that is code: `python -m benchmarks.locked_models --device cuda`.

ResNet50 in fp16 as a TorchScript package, over workload A of `benchmarks.tiles_per_second`, in the worker's own process
and in a locked one, in turn. Prints tiles a second of each round, and the seconds until the model is ready.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks import peers
from benchmarks.engine_arm import open_over_http, plan_slide, run
from benchmarks.workloads import DISTINCT, PATCHES, WORKLOADS, WorkloadSlide, write
from inference.models.package import read_package
from inference.models.registry import Loader, load_guarded, load_model
from tests.inference.packages import write_package
from tests.range_server import serve
from wsi.records.model_card import ModelCard
from wsi.slide.reads import ReadCounter

ARMS: Final[dict[str, Loader]] = {"own process": load_model, "locked process": load_guarded}
ROUNDS: Final = 3
CLASSES: Final = 1000
SIDE: Final = 256


def main(argv: Sequence[str] | None = None) -> None:
    asked = _parse_arguments(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package = write_network(folder / "resnet50")
        (folder / "slides").mkdir()
        slide = write(folder / "slides", WORKLOADS["A"], patches=asked.patches, distinct=asked.distinct)
        with serve(folder / "slides") as url:
            rates: dict[str, list[float]] = {arm: [] for arm in ARMS}
            for _ in range(asked.rounds):
                for arm, load in ARMS.items():
                    rates[arm].append(_measure(arm, load, package, slide, url, asked.device))
    own, locked = (statistics.median(rates[arm]) for arm in ARMS)
    print(f"locked / own, medians: {locked / own:.4f}")


def write_network(folder: Path) -> Path:
    """Write the network as a package of WSInfer's."""
    names = [f"class {number}" for number in range(CLASSES)]
    steps = [
        {"name": "Resize", "arguments": {"size": SIDE}},
        {"name": "ToTensor"},
        {"name": "Normalize", "arguments": {"mean": [*peers.MEAN], "std": [*peers.DEVIATION]}},
    ]
    return write_package(
        folder,
        peers.make_network("cpu"),
        num_classes=CLASSES,
        class_names=names,
        patch_size_pixels=SIDE,
        transform=steps,
    )


def read_card(package: Path, device: str) -> ModelCard:
    """Return the package's card: in fp16 and batches of 256 for a GPU, as no such package can ask, since the copy of a
    batch weighs most where the network is fastest."""
    card = read_package(package)
    return replace(card, precision="fp16", batch=256) if device.startswith("cuda") else card


def _measure(arm: str, load: Loader, package: Path, slide: WorkloadSlide, url: str, device: str) -> float:
    began = time.perf_counter()
    model = load(read_card(package, device), package, device)
    loaded = time.perf_counter() - began
    reads = ReadCounter()
    reader = open_over_http(slide, url, reads)
    found = run([(plan_slide(slide, reader, model.card), reader)], model, reads, device=device)
    print(
        f"{arm:16} {found.rate:10,.0f} tiles/s; GPU busy {found.busy:.4f}; parent {found.parent_us:.1f} us CPU a tile; "
        f"ready after {loaded:.1f} s",
        flush=True,
    )
    return found.rate


def _parse_arguments(argv: Sequence[str] | None) -> Any:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--device", default="cuda")
    given.add_argument("--patches", type=int, default=PATCHES)
    given.add_argument("--distinct", type=int, default=DISTINCT)
    given.add_argument("--rounds", type=int, default=ROUNDS)
    return given.parse_args(argv)


if __name__ == "__main__":
    main()
