"""Checks of model packages before they are registered: do they load, and does their precision cost more than they
say."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.limited import Limits, run_limited
from inference.models.card.rules import collect_doubts
from inference.models.checks.golden import MOST_BYTES, MOST_TILES, Golden, read_golden, write_golden
from inference.models.checks.map_check import MOST_TILES as MOST_MAPPED
from inference.models.checks.map_check import compare_maps, compute_maps
from inference.models.checks.network_check import check_on_tiles
from inference.models.checks.receptive_field import InspectableMaps, ReceptiveField, measure_receptive_field
from inference.models.checks.tolerance import Difference, compare_scores
from inference.models.execution.scoring import score_tiles
from inference.models.loaded import DenseModel
from inference.models.package import read_package
from inference.models.registry import load_model
from tessera.local_run.inputs import SlideInput
from tessera.local_run.sources import Sources
from tessera.models.tiles import read_tiles
from tessera.progress import TilesBar
from wsi.cores import count_available_cores
from wsi.errors import ModelError
from wsi.jobs.planning import THREADS
from wsi.models.package_files import CARD, GOLDEN
from wsi.numerics import PRECISION
from wsi.records.model_card import ModelCard


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    card: ModelCard
    doubts: tuple[str, ...]  #: what is probably not meant
    golden: bool  #: whether the package has golden tiles; they were reproduced then
    found: Difference | None  #: from fp32 on the same device; None without tiles, and for a card in fp32
    tiles_per_second: float | None  #: in whole batches, with their copies, without reading; None without tiles
    field: ReceptiveField | None = None  #: of a model that gives maps


def check_within(
    limits: Limits, folder: Path, device: str, slide: SlideInput | None, count: int, seconds: float
) -> Checked:
    """Check the package as `check_on` does, in a process of its own, which is ended at a limit. Raises ModelError
    then."""
    return run_limited(limits, check_on, folder, device, slide, count, seconds)


def check_on(folder: Path, device: str, slide: SlideInput | None, count: int, seconds: float) -> Checked:
    """Check the package on `count` tiles of the slide, or on its golden ones, with a progress bar; on those that are
    scored in `seconds`. Raises as `check` and `tiles_of` do."""
    with TilesBar(transient=True) as bar:
        show = bar.begin(f"checking {folder.name}")
        count = count if read_package(folder).objects is None else min(count, MOST_MAPPED)
        tiles = read_tiles(slide, folder, count, Sources()) if slide is not None else None
        show(len(tiles) if tiles is not None else 0)
        return check(folder, device, tiles, seconds=seconds, on_tiles=bar.advance)


def check(
    folder: Path,
    device: str,
    tiles: NDArray[np.uint8] | None,
    *,
    seconds: float = math.inf,
    on_tiles: Callable[[int], None] = lambda _: None,
) -> Checked:
    """Load the package in `folder` on `device`, and compare its scores in the card's precision with those in fp32.

    `tiles` [n, height, width, 3] are scored, or the package's golden tiles if None. Only tiles whose batch begins
    within `seconds` are compared. Raises ModelError, UnsuitableDevice, DeviceLost.
    """
    card = read_package(folder)
    model = load_model(card, folder, device)
    if isinstance(model, DenseModel):
        return _check_maps(folder, device, model, tiles, on_tiles)
    golden = read_golden(folder / GOLDEN, card) if GOLDEN in card.files else None
    if tiles is None and golden is not None:
        tiles = golden.tiles
    if tiles is None:
        return Checked(card=card, doubts=collect_doubts(card), golden=False, found=None, tiles_per_second=None)
    threads = count_available_cores() if device == "cpu" else THREADS  # as `run` has them
    began = time.perf_counter()
    scores = score_tiles(model, tiles, threads=threads, seconds=seconds, on_tiles=on_tiles)
    rate = len(scores) / (time.perf_counter() - began)
    tiles = tiles[: len(scores)]
    seen = (*collect_doubts(card), *check_on_tiles(model, tiles, scores))
    found = None
    if card.precision != PRECISION:
        del model  # two networks need not fit beside each other
        exact = load_model(replace(card, precision=PRECISION), folder, device)
        found = compare_scores(card, scores, score_tiles(exact, tiles, threads=threads))
    return Checked(card=card, doubts=seen, golden=golden is not None, found=found, tiles_per_second=rate)


def _check_maps(
    folder: Path, device: str, model: DenseModel, tiles: NDArray[np.uint8] | None, on_tiles: Callable[[int], None]
) -> Checked:
    """Check a model that gives maps: what its maps depend on, and what its precision costs."""
    card = model.card
    threads = count_available_cores() if device == "cpu" else THREADS
    field = measure_receptive_field(model) if isinstance(model, InspectableMaps) else None
    doubts = (*collect_doubts(card), *(field.check(card) if field is not None else ()))
    found = rate = None
    if tiles is not None:
        tiles = tiles[:MOST_MAPPED]
        began = time.perf_counter()
        for tile in tiles:
            compute_maps(model, tile[None], threads=threads)
            on_tiles(1)
        rate = len(tiles) / (time.perf_counter() - began)
        if card.precision != PRECISION:
            exact = load_model(replace(card, precision=PRECISION), folder, device)
            assert isinstance(exact, DenseModel)
            found = compare_maps(model, exact, tiles, threads=threads)
    return Checked(card=card, doubts=doubts, golden=False, found=found, tiles_per_second=rate, field=field)


def make_golden(folder: Path, slide: SlideInput, count: int, sources: Sources) -> ModelCard:
    """Write golden.npz with tiles of the slide and their scores in fp32 on this CPU, and its name into card.json. The
    digest of the package changes: its new card is returned. Raises as `tiles_of` does, ModelError, UnsuitableDevice."""
    card = read_package(folder)
    if card.objects is not None:
        raise ModelError("Golden tiles hold scores of tiles, and this model gives maps: it has none.")
    tiles = read_tiles(slide, folder, min(count, MOST_TILES), sources, MOST_BYTES)
    bare = replace(card, files=tuple(name for name in card.files if name != GOLDEN))
    model = load_model(replace(bare, precision=PRECISION), folder, "cpu")
    scores = score_tiles(model, tiles)
    check_on_tiles(model, tiles, scores)
    if card.precision != PRECISION:
        del model  # two networks need not fit beside each other
        beyond = compare_scores(card, score_tiles(load_model(bare, folder, "cpu"), tiles), scores).describe_excess(
            card.tolerance
        )
        if beyond is not None:
            raise ModelError(f"In {card.precision} {beyond}: no worker would reproduce these golden tiles.")
    write_golden(folder / GOLDEN, Golden(tiles=tiles, scores=scores))
    path = folder / CARD
    said = json.loads(path.read_bytes()) if path.is_file() else {"spec_version": "1.0"}
    path.write_text(json.dumps({**said, "golden": GOLDEN}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return read_package(folder)
