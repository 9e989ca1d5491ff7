"""Model packages before they are registered: do they load, and does their precision cost more than they say."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from client.inputs import SlideInput, UsageError
from client.progress import TilesBar
from client.sources import Sources, plan_uris
from gpu_worker.models.card_file import CARD
from gpu_worker.models.card_rules import doubts
from gpu_worker.models.golden import GOLDEN, MOST_BYTES, MOST_TILES, Golden, read_golden, write_golden
from gpu_worker.models.network_check import check_on_tiles
from gpu_worker.models.package import read_package
from gpu_worker.models.registry import load_model
from gpu_worker.models.scoring import scores_of
from gpu_worker.models.tolerance import Difference, difference
from gpu_worker.pipeline import run_shard
from wsi.cores import available_cores
from wsi.errors import ModelError
from wsi.examination import examine
from wsi.model_card import ModelCard
from wsi.numerics import PRECISION
from wsi.plan import Numerics
from wsi.planning import THREADS, make_plan
from wsi.records.jobs import JobOptions
from wsi.slide.opening import open_slide

#: Bytes of pixels that are compared at once.
MOST = 2 * 1024**3


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


def tiles_of(
    slide: SlideInput, folder: Path, count: int, sources: Sources, most_bytes: int = MOST
) -> NDArray[np.uint8]:
    """[n, height, width, 3], n <= count and about `most_bytes` at most: tiles of tissue from all over the slide, as the
    package's model is given them. Raises what a run raises, and UsageError for a slide without any."""
    card = read_package(folder)
    with sources.opened(slide) as source, closing(open_slide(source, mpp=slide.mpp, choice=slide.choice)) as reader:
        plan = make_plan(
            slide_digest="",
            slide_uris=plan_uris(slide, source),
            reader=reader,
            examination=examine(reader),
            card=card,
            package_uri=None,
            options=JobOptions(mpp=slide.mpp, region=slide.region, choice=slide.choice),
            shard_tiles=None,
            threads=THREADS,
        )
        room = max(1, most_bytes // (3 * plan.grid.level_side * plan.grid.level_side_y))
        taken = np.linspace(0, len(plan.order) - 1, min(count, room, len(plan.order))).astype(np.int32)
        if not len(taken):
            raise UsageError(f"{slide.name} holds no tissue")
        plan = replace(plan, order=plan.order[taken], shard_offsets=np.array([0, len(taken)], np.int32))
        kept = KeptPixels(card)
        done = run_shard(plan, 0, reader, kept, stop=threading.Event())
    if not len(done.tiles):
        raise UsageError(f"no tile of {slide.name} can be read")
    return kept.pixels_of(done.scores)


class KeptPixels:
    """In place of a model: keeps what it is given, and gives each tile the number of its pixels as its first score."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self._batches: list[NDArray[np.uint8]] = []
        self._count = 0

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        self._batches.append(pixels.copy())
        scores = np.zeros((len(pixels), len(self.card.columns)), np.float32)
        scores[:, 0] = np.arange(self._count, self._count + len(pixels))  # exact up to 2^24
        self._count += len(pixels)
        return scores

    def pixels_of(self, scores: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return [n, height, width, 3], in the order of the scores."""
        return np.concatenate(self._batches)[scores[:, 0].astype(np.intp)]
