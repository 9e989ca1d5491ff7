"""Tiles of a slide as a package's model is given them, outside of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.models.package import read_package
from inference.pipeline import run_shard
from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.sources import Sources, make_plan_uris
from wsi.inspection.examination import examine
from wsi.jobs.planning import THREADS, make_plan
from wsi.planning.grid import order_tiles
from wsi.planning.plan import Numerics, Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard, OutputColumn, OutputKind
from wsi.results.shard_result import Numbers
from wsi.slide.opening import open_slide
from wsi.slide.slide import SlideReader

#: Bytes of pixels that are held at once.
MOST = 2 * 1024**3


def read_tiles(
    slide: SlideInput, folder: Path, count: int, sources: Sources, most_bytes: int = MOST
) -> NDArray[np.uint8]:
    """Return tiles [n, height, width, 3], n <= count and about `most_bytes` at most: tiles of tissue from all over the
    slide, as the package's model is given them. Raises what a run raises, and UsageError for a slide without any."""
    with _plan_slide(slide, read_package(folder), sources) as (plan, reader):
        taken = np.linspace(0, len(plan.order) - 1, min(count, _room(plan, most_bytes), len(plan.order)))
        if not len(taken):
            raise UsageError(f"{slide.name} holds no tissue")
        return _read(plan, plan.order[taken.astype(np.int32)], reader, slide.name)[0]


def read_tiles_at(
    slide: SlideInput, card: ModelCard, origins: NDArray[np.int32], sources: Sources
) -> tuple[NDArray[np.uint8], NDArray[np.intp], int]:
    """Return tiles [n, height, width, 3] at `origins` [m, 2] (level-0 x, y, ascending), the numbers of the origins that
    could be read, and a tile's width in level-0 px. Raises as `read_tiles` does, and UsageError for one off the
    slide."""
    with _plan_slide(slide, card, sources) as (plan, reader):
        inspection, grid = plan.inspection, plan.grid
        off = ((origins < 0) | (origins >= (inspection.width, inspection.height))).any(axis=1)
        if off.any():
            x, y = origins[off][0]
            raise UsageError(f"a tile at {x}, {y} lies off {slide.name} ({inspection.width} x {inspection.height} px)")
        if len(origins) > (room := _room(plan, MOST)):
            raise UsageError(f"{len(origins):,} tiles do not fit into memory: compare {room:,} with --tiles")
        order = order_tiles(origins, grid, inspection.levels[grid.level])
        return *_read(replace(plan, tiles=origins), order, reader, slide.name), grid.side


@contextmanager
def _plan_slide(slide: SlideInput, card: ModelCard, sources: Sources) -> Iterator[tuple[Plan, SlideReader]]:
    with sources.open(slide) as source, closing(open_slide(source, mpp=slide.mpp, choice=slide.choice)) as reader:
        plan = make_plan(
            slide_digest="",
            slide_uris=make_plan_uris(slide, source),
            reader=reader,
            examination=examine(reader),
            card=_as_numbered(card),
            package_uri=None,
            options=JobOptions(mpp=slide.mpp, region=slide.region, choice=slide.choice),
            shard_tiles=None,
            threads=THREADS,
        )
        yield plan, reader


def _as_numbered(card: ModelCard) -> ModelCard:
    """Return the card with a column, which numbers the tiles, if it has none: its tiles are the same."""
    if card.columns:
        return card
    columns = (OutputColumn(name="number"),)
    return replace(card, output=OutputKind.REGRESSION, columns=columns, embedding=None, objects=None)


def _room(plan: Plan, most_bytes: int) -> int:
    return max(1, most_bytes // (3 * plan.grid.level_side * plan.grid.level_side_y))


def _read(
    plan: Plan, order: NDArray[np.int32], reader: SlideReader, name: str
) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Return the pixels of the tiles in `order` and their numbers, both ascending. Raises UsageError for none."""
    plan = replace(plan, order=order, shard_offsets=np.array([0, len(order)], np.int32))
    kept = _KeptPixels(plan.card)
    done = run_shard(plan, 0, reader, kept, stop=threading.Event())
    if not len(done.tiles):
        raise UsageError(f"no tile of {name} can be read")
    return kept.pixels_of(done.scores), done.tiles.astype(np.intp)


class _KeptPixels:
    """A stand-in for a model: keeps the pixels, and gives each tile the number of its pixels as its first score."""

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

    def pixels_of(self, scores: Numbers) -> NDArray[np.uint8]:
        """Return [n, height, width, 3], in the order of the scores."""
        return np.concatenate(self._batches)[scores[:, 0].astype(np.intp)]
