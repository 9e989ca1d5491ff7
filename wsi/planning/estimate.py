"""Checks of whether a job can be planned, and the price of its tiles. Needs no numpy: `wsi.planning.dry_run` counts
tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wsi.errors import Invalid, JobFailed
from wsi.planning.scale import (
    Microns,
    choose_level,
    compute_grid_mpp,
    describe_too_many_boxes,
    may_enlarge,
)
from wsi.planning.shards import SECONDS, UNMEASURED, compute_shard_size, estimate_tile_bytes
from wsi.planning.window_sides import compute_tile_sides
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.outline import describe_missed_region
from wsi.records.slides import Inspection
from wsi.slide.mpp import override_mpp


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    tiles: int
    shards: int
    seconds: float  #: of one device, all shards one after the other
    dollars: float
    #: by a rate that was measured. False: seconds and dollars are those of a slow model. True where nothing is said
    measured: bool = True
    exact: bool = False  #: `tiles` are those that planning takes. False where nothing is said: once all were near ones


def check_plannable(inspection: Inspection, card: ModelCard, options: JobOptions) -> Microns:
    """Return the microns a level-0 pixel of the plan, across and down. Raises what planning would: SlideRejected (mpp,
    SLIDE_TOO_COARSE), and Invalid for too many tiles, for windows that keep nothing, and for a region off
    the slide."""
    inspection = override_mpp(inspection, options.mpp)
    mpp = compute_grid_mpp(inspection)
    enlarging = may_enlarge(card, mpp, asked=options.allow_upsampling)
    choose_level(inspection.levels, mpp, card.mpp, allow_upsampling=enlarging)
    try:
        side, side_y = compute_tile_sides(inspection, card, mpp, options)
    except JobFailed as error:
        raise Invalid(error.sentence) from error
    sentence = describe_too_many_boxes(-(-inspection.width // side), -(-inspection.height // side_y), side, side_y)
    if sentence is None and options.outline is not None:
        sentence = describe_missed_region(options.outline.on_slide(inspection.bounds), inspection)
    if sentence is not None:
        raise Invalid(sentence)
    if 0 in compute_region_size(inspection, options.region):
        raise Invalid(
            f"The region lies outside the slide of {inspection.width} x {inspection.height} px: state it in pixels of "
            "the full resolution."
        )
    return mpp


def choose_rate(tiles_per_second: float | None) -> float:
    """Return the tiles a second of one worker; a model without a measured rate counts as a slow one."""
    return tiles_per_second or UNMEASURED / SECONDS


def estimate_tiles(inspection: Inspection, card: ModelCard, options: JobOptions) -> int:
    """Return about how many tiles the job will have: the tissue's share of the boxes in its region. Raises as
    `check_plannable` does."""
    side, side_y = compute_tile_sides(inspection, card, check_plannable(inspection, card, options), options)
    width, height = compute_region_size(inspection, options.region)
    return max(1, math.ceil(inspection.tissue_fraction * width * height / (side * side_y)))


def make_estimate(tiles: int, card: ModelCard, dollars_per_gpu_hour: float, *, exact: bool) -> Estimate:
    """Return shards, seconds and dollars of the given number of tiles."""
    seconds = tiles / choose_rate(card.tiles_per_second)
    return Estimate(
        tiles=tiles,
        shards=math.ceil(tiles / compute_shard_size(card.tiles_per_second, tile_bytes=estimate_tile_bytes(card))),
        seconds=seconds,
        dollars=compute_cost(seconds, dollars_per_gpu_hour),
        measured=card.tiles_per_second is not None,
        exact=exact,
    )


def compute_cost(worker_seconds: float, dollars_per_gpu_hour: float) -> float:
    """Return the dollars that the given seconds of one worker cost."""
    return worker_seconds / 3600 * dollars_per_gpu_hour


def compute_region_size(inspection: Inspection, region: tuple[int, int, int, int] | None) -> tuple[int, int]:
    """Return width and height, in level-0 px, of the region's part inside the slide; of the whole slide without a
    region."""
    if region is None:
        return inspection.width, inspection.height
    x, y, width, height = region
    return (
        max(0, min(x + width, inspection.width) - max(x, 0)),
        max(0, min(y + height, inspection.height) - max(y, 0)),
    )
