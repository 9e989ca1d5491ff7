"""A package loaded, checked and measured on one device: what registration does, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import numpy as np

from inference.memory import read_usage
from inference.models.card.rules import collect_doubts
from inference.models.checks.golden import read_golden
from inference.models.checks.map_check import compute_maps
from inference.models.checks.network_check import check_on_tiles, make_tiles
from inference.models.checks.receptive_field import InspectableMaps, measure_receptive_field
from inference.models.confined.model import ConfinedModel
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import DenseModel, LoadedModel
from inference.models.package import read_package
from inference.models.registry import Loader, load_model
from wsi.jobs.planning import THREADS
from wsi.models.package_files import GOLDEN
from wsi.records.model_card import ModelCard
from wsi.records.registrations import ModelMeasurements

#: The most batches to measure: more say nothing new.
BATCHES: Final = 64


def try_package(
    folder: Path, device: str, seconds: float, load: Loader = load_model
) -> tuple[ModelCard, ModelMeasurements]:
    """Return the card of the package and how its model runs on `device` ("cpu", "cuda:0"). Its golden tiles, if it has
    any, must come out as they are, alone and in other batches too. The rate is measured over `seconds`. Raises
    ModelError, UnsuitableDevice, DeviceLost."""
    card = read_package(folder)
    began = time.perf_counter()
    model = load(card, folder, device)
    loaded = time.perf_counter() - began
    seen = collect_doubts(card)
    if isinstance(model, InspectableMaps):
        seen = (*seen, *measure_receptive_field(model).check(card))
    has_golden = GOLDEN in card.files
    if has_golden:
        tiles = read_golden(folder / GOLDEN, card).tiles
        seen = (*seen, *check_on_tiles(model, tiles, score_tiles(model, tiles)))
    rate = measure_rate(model, seconds)
    memory, device_memory = _read_usage(model, device)
    measured = ModelMeasurements(
        device=_name(device),
        tiles_per_second=round(rate, 3),
        load_seconds=round(loaded, 3),
        memory_bytes=memory,
        device_bytes=device_memory,
        golden=has_golden,
        doubts=tuple(seen),
    )
    return card, measured


def measure_rate(model: LoadedModel, seconds: float) -> float:
    """Measure the model's rate, copies included, in whole batches and with the threads of a worker. The tiles are
    synthetic, of the side that the model was trained at. A batch that takes longer than `seconds` is measured
    whole."""
    card = model.card
    batch = np.resize(np.stack(make_tiles(card.tile_px)), (card.batch, card.tile_px, card.tile_px, 3))

    def run() -> int:
        if isinstance(model, DenseModel):
            return len(compute_maps(model, batch, threads=THREADS))
        return len(score_tiles(model, batch, threads=THREADS))

    run()  # the first one is slower
    began, done = time.perf_counter(), 0
    while (took := time.perf_counter() - began) < seconds and done < BATCHES * card.batch:
        done += run()
    return done / max(took, 1e-9)


def _name(device: str) -> str:
    if device == "cpu":
        return f"CPU, {THREADS} thread" + ("s" if THREADS > 1 else "")
    import torch

    return torch.cuda.get_device_name(device)


def _read_usage(model: LoadedModel, device: str) -> tuple[int, int | None]:
    """Return the peak memory of the model's process and of the device, in bytes; None for a model on the CPU."""
    return model.read_usage() if isinstance(model, ConfinedModel) else read_usage(device)
