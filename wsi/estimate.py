"""What a job would cost: arithmetic on what inspection stored; no byte of the slide is read. Needs no numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wsi.errors import Invalid
from wsi.model_card import ModelCard
from wsi.outline import Outline, area, box, length, missed
from wsi.records.jobs import JobOptions
from wsi.records.slides import Inspection
from wsi.scale import Microns, box_sides, choose_level, grid_mpp
from wsi.shards import SECONDS, UNMEASURED, shard_size
from wsi.slide.mpp import overridden


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    tiles: int
    shards: int
    seconds: float  #: of one device, all shards one after the other
    dollars: float


def check_plannable(inspection: Inspection, card: ModelCard, options: JobOptions) -> Microns:
    """The microns a level-0 pixel of the plan, across and down. Raises what planning would: SlideRejected (mpp,
    SLIDE_TOO_COARSE), and Invalid for a region off the slide."""
    inspection = overridden(inspection, options.mpp)
    mpp = grid_mpp(inspection)
    allow_upsampling = options.allow_upsampling or card.allow_upsampling
    choose_level(inspection.levels, mpp, card.mpp, allow_upsampling=allow_upsampling)
    if options.outline is not None and not _on_slide(box(options.outline.on_slide(inspection.bounds)), inspection):
        raise Invalid(missed(inspection))
    if 0 in _inside(inspection, options.region):
        raise Invalid(
            f"The region lies outside the slide of {inspection.width} x {inspection.height} px: state it in pixels of "
            "the full resolution."
        )
    return mpp


def estimate(inspection: Inspection, card: ModelCard, options: JobOptions, dollars_per_gpu_hour: float) -> Estimate:
    """Tiles, shards, seconds and dollars of a job. Raises as `check_plannable` does.

    The tissue is taken as one round piece spread evenly over the slide, and every box that it touches as analysed:
    on average area + 2/pi x perimeter + 1 boxes for a convex shape, in units of a box (Santalo, Integral Geometry,
    1976). A region has its share of them.
    """
    width, height = box_sides(card, check_plannable(inspection, card, options))
    seen = _inside(inspection, options.region)
    if options.outline is None and inspection.tile_counts is not None:
        slide = inspection.width, inspection.height
        tiles = inspection.tile_counts.tiles(slide, (width, height), options.min_tissue, options.region)
    else:
        covered = inspection.tissue_fraction * seen[0] * seen[1] / (width * height)
        touched = covered + 4 * math.sqrt(covered / math.pi) + 1 if covered else 0
        if options.outline is not None:
            touched = _touched(options.outline, width, height)
        tiles = min(math.ceil(touched), math.ceil(seen[0] / width) * math.ceil(seen[1] / height))
    rate = card.tiles_per_second or UNMEASURED / SECONDS
    seconds = tiles / rate
    return Estimate(
        tiles=tiles,
        shards=math.ceil(tiles / shard_size(card.tiles_per_second)),
        seconds=seconds,
        dollars=seconds / 3600 * dollars_per_gpu_hour,
    )


def _on_slide(box: tuple[float, float, float, float], inspection: Inspection) -> bool:
    left, top, right, bottom = box
    return left < inspection.width and top < inspection.height and right > 0 and bottom > 0


def _touched(outline: Outline, width: int, height: int) -> float:
    """The same rule for polygons, whose area and edges are known: holes take area away and add edges."""
    boxes = 0.0
    for outer, *holes in outline.polygons:
        enclosed = max(0.0, area(outer) - math.fsum(map(area, holes)))
        edges = math.fsum(map(length, (outer, *holes)))
        boxes += enclosed / (width * height) + edges / math.pi * (1 / width + 1 / height) + 1
    return boxes


def _inside(inspection: Inspection, region: tuple[int, int, int, int] | None) -> tuple[int, int]:
    """Width and height of what is analysed, in level-0 px."""
    if region is None:
        return inspection.width, inspection.height
    x, y, width, height = region
    return (
        max(0, min(x + width, inspection.width) - max(x, 0)),
        max(0, min(y + height, inspection.height) - max(y, 0)),
    )
