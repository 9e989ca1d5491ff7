"""Vectors of large encoders from byte ranges to features.h5, beside the model alone: `python -m
benchmarks.embeddings_on_gpu SLIDE --device cuda`.

SLIDE is a small slide as of `benchmarks.objects_on_gpu`. Packages of timm's ViT-L/16 and ViT-H/14 with random weights
are made on the fly and run as `tessera run` runs them. Beside it: the same network, loaded the same way, over one batch
that stays on the device. "Of the model alone" is once of the steady part, in which shards' results are written while
the device computes, and once of the whole run from the plan to the last file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import describe_machine
from benchmarks.repeated_slide import write_repeated
from benchmarks.timed_run import TimedRun, check_modules, list_foreign_modules, measure_run
from inference.models.loaded import LoadedModel
from wsi.records.model_card import ModelCard

TILE: Final = 224  #: px, of the slide as of the networks
NEEDED: Final = ("PIL", "h5py", "imagecodecs", "numpy", "pyarrow", "pydantic", "safetensors", "simplejpeg", "tifffile")


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoder:
    name: str  #: timm's
    tiles: int  #: that the slide has at least


ENCODERS: Final = (
    Encoder(name="vit_large_patch16_224", tiles=60_000),
    Encoder(name="vit_huge_patch14_224", tiles=40_000),
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slide", type=Path)
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N")
    parser.add_argument("--encoders", nargs="*", default=[each.name for each in ENCODERS])
    parser.add_argument("--tiles", type=int, help="of each slide; else as many as suit the encoder")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--decoders", type=int, help="decode processes; all cores but one")
    parser.add_argument("--alone-seconds", type=float, default=5.0)
    given = parser.parse_args(argv)
    check_modules(*NEEDED, "timm", "torch")
    print(describe_machine())
    rows: list[str] = []
    for name in given.encoders:
        tiles = given.tiles or next((each.tiles for each in ENCODERS if each.name == name), ENCODERS[-1].tiles)
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure_encoder(Path(folder), name, tiles, given))
    print("\n| encoder | tiles | model alone, tiles/s | steady | of the model alone | plan to features.h5 | of it |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    print(f"modules: {', '.join(list_foreign_modules())}")


def measure_encoder(folder: Path, name: str, tiles: int, given: argparse.Namespace) -> str:
    """Run the encoder alone and over a slide. Return a row of the table."""
    from inference.models.package import read_package
    from inference.models.registry import load_model

    package = folder / name
    write_package(package, name, batch=given.batch, precision=given.precision)
    card = read_package(package)
    slide = write_repeated(folder / "slide.svs", given.slide, round((tiles**0.5 + 1) * TILE))
    began = time.perf_counter()
    model = load_model(card, package, given.device)
    print(f"\n{name}, {card.precision}, batches of {card.batch}: loaded in {time.perf_counter() - began:.1f} s")
    before = measure_alone(model, card, given.device, given.alone_seconds)
    found = measure_run(
        slide, folder / "out", card, model, device=given.device, package=package, decoders=given.decoders
    )
    alone = max(before, measure_alone(model, card, given.device, given.alone_seconds))
    print(f"  model alone: {alone:,.0f} tiles/s (before the run {before:,.0f})\n  {found.describe()}", flush=True)
    check_features(folder / "out" / "features.h5", card, found)
    whole = found.tiles / (found.ended - found.planned)
    return (
        f"| {name} | {found.tiles:,} | {alone:,.0f} | {found.steady:,.0f} | {found.steady / alone:.3f} |"
        f" {whole:,.0f} | {whole / alone:.3f} |"
    )


def write_package(folder: Path, name: str, *, batch: int, precision: str) -> None:
    """Write a package of timm's network with random weights, as examples/encoder_package.py does."""
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    network: Any = timm.create_model(name, num_classes=0).eval()
    card: dict[str, Any] = {
        "spec_version": "1.0",
        "kind": "safetensors",
        "architecture": f"timm/{name}",
        "description": "A vision transformer with random weights, for a benchmark.",
        "output": "embedding",
        "dimensions": network.num_features,
        "pooling": "cls",
        "features": "fp16",
        "tile_px": TILE,
        "mpp": 0.5,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.5, 0.5, 0.5],
        "batch": batch,
        "precision": precision,
        "licence": "Apache-2.0",
    }
    folder.mkdir(parents=True)
    weights = {key: value.contiguous() for key, value in network.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    (folder / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def measure_alone(model: LoadedModel, card: ModelCard, device: str, seconds: float) -> float:
    """Return the tiles a second of the network over one batch that stays on the device, as the worker runs it; on the
    CPU of calls with a batch."""
    import numpy as np

    from wsi.numerics import NUMERICS_VERSION
    from wsi.planning.plan import Numerics

    sides: dict[str, Any] = {"batch": card.batch, "height": TILE, "width": TILE, "device": device}
    if device != "cpu":
        from benchmarks.peers import run_model_alone
        from inference.models.execution.cuda import OnCuda

        assert isinstance(model, OnCuda)
        return run_model_alone(model.compute_on_device, **sides, seconds=seconds).rate
    pixels = np.random.default_rng(0).integers(0, 256, (card.batch, TILE, TILE, 3), np.uint8)
    numerics = Numerics(version=NUMERICS_VERSION, precision=card.precision, batch=card.batch, threads=1)
    began, calls = time.perf_counter(), 0
    while not calls or time.perf_counter() - began < seconds:
        model.infer(pixels, numerics)
        calls += 1
    return calls * card.batch / (time.perf_counter() - began)


def check_features(path: Path, card: ModelCard, found: TimedRun) -> None:
    """Raise AssertionError unless the file has a row of finite numbers for each tile."""
    import h5py  # pyright: ignore[reportMissingTypeStubs]
    import numpy as np

    file: Any
    with h5py.File(path) as file:
        assert file["features"].shape == (found.tiles, card.width), file["features"].shape
        assert np.isfinite(file["features"][: 4 * card.batch]).all()


if __name__ == "__main__":
    main(sys.argv[1:])
