"""Model packages before they are registered: do they load, and does their precision cost more than they say."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from client.inputs import SlideInput
from client.model_tiles import tiles_of
from client.progress import TilesBar
from client.sources import Sources
from gpu_worker.models.card_file import CARD
from gpu_worker.models.card_rules import doubts
from gpu_worker.models.golden import GOLDEN, MOST_BYTES, MOST_TILES, Golden, read_golden, write_golden
from gpu_worker.models.network_check import check_on_tiles
from gpu_worker.models.package import read_package
from gpu_worker.models.registry import load_model
from gpu_worker.models.scoring import scores_of
from gpu_worker.models.tolerance import Difference, difference
from wsi.cores import available_cores
from wsi.errors import ModelError
from wsi.model_card import ModelCard
from wsi.numerics import PRECISION
from wsi.planning import THREADS


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    card: ModelCard
    doubts: tuple[str, ...]  #: what is probably not meant
    golden: bool  #: whether the package has golden tiles; they were reproduced then
    found: Difference | None  #: from fp32 on the same device; None without tiles, and for a card in fp32
    tiles_per_second: float | None  #: in whole batches, with their copies, without reading; None without tiles


def check_on(folder: Path, device: str, slide: SlideInput | None, count: int, seconds: float) -> Checked:
    """Check the package on `count` tiles of the slide, or on its golden ones, with a progress bar; on those that are
    scored in `seconds`. Raises as `check` and `tiles_of` do."""
    with TilesBar(transient=True) as bar:
        show = bar.begin(f"checking {folder.name}")
        tiles = tiles_of(slide, folder, count, Sources()) if slide is not None else None
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
    """Loads the package in `folder` on `device` and compares its card's precision with fp32 over `tiles` [n, height,
    width, 3], in place of which its golden ones serve, and over those that are scored in `seconds`. Raises ModelError,
    UnsuitableDevice, DeviceLost."""
    card = read_package(folder)
    model = load_model(card, folder, device)
    golden = read_golden(folder / GOLDEN, card) if GOLDEN in card.files else None
    if tiles is None and golden is not None:
        tiles = golden.tiles
    if tiles is None:
        return Checked(card=card, doubts=doubts(card), golden=False, found=None, tiles_per_second=None)
    threads = available_cores() if device == "cpu" else THREADS  # as `run` has them
    began = time.perf_counter()
    scores = scores_of(model, tiles, threads=threads, seconds=seconds, on_tiles=on_tiles)
    rate = len(scores) / (time.perf_counter() - began)
    tiles = tiles[: len(scores)]
    seen = (*doubts(card), *check_on_tiles(model, tiles, scores))
    found = None
    if card.precision != PRECISION:
        del model  # two networks need not fit beside each other
        exact = load_model(replace(card, precision=PRECISION), folder, device)
        found = difference(card, scores, scores_of(exact, tiles, threads=threads))
    return Checked(card=card, doubts=seen, golden=golden is not None, found=found, tiles_per_second=rate)


def make_golden(folder: Path, slide: SlideInput, count: int, sources: Sources) -> ModelCard:
    """Writes golden.npz with tiles of the slide and their scores in fp32 on this CPU, and its name into card.json. The
    digest of the package changes: its new card is returned. Raises as `tiles_of` does, ModelError, UnsuitableDevice."""
    card = read_package(folder)
    tiles = tiles_of(slide, folder, min(count, MOST_TILES), sources, MOST_BYTES)
    bare = replace(card, files=tuple(name for name in card.files if name != GOLDEN))
    model = load_model(replace(bare, precision=PRECISION), folder, "cpu")
    scores = scores_of(model, tiles)
    check_on_tiles(model, tiles, scores)
    if card.precision != PRECISION:
        del model  # two networks need not fit beside each other
        beyond = difference(card, scores_of(load_model(bare, folder, "cpu"), tiles), scores).beyond(card.tolerance)
        if beyond is not None:
            raise ModelError(f"In {card.precision} {beyond}: no worker would reproduce these golden tiles.")
    write_golden(folder / GOLDEN, Golden(tiles=tiles, scores=scores))
    path = folder / CARD
    said = json.loads(path.read_bytes()) if path.is_file() else {"spec_version": "1.0"}
    path.write_text(json.dumps({**said, "golden": GOLDEN}, indent=2, ensure_ascii=False) + "\n")
    return read_package(folder)
