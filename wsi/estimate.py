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

    By the counts that inspection made of the real mask: within 5 % of the plan for grids of some hundred tiles and
    more; of fewer, some tiles off. A drawn region, and a slide that was inspected before there were counts, are
    guessed.
    """
    box = box_sides(card, check_plannable(inspection, card, options))
    if options.outline is None and inspection.tile_counts is not None:
        slide = inspection.width, inspection.height
        tiles = inspection.tile_counts.tiles(slide, box, options.min_tissue, options.region)
    else:
        tiles = _guessed(inspection, box, options)
    return priced(tiles, card, dollars_per_gpu_hour)


def priced(tiles: int, card: ModelCard, dollars_per_gpu_hour: float) -> Estimate:
    """What so many tiles take. A model whose rate nobody measured is taken for a slow one."""
    seconds = tiles / (card.tiles_per_second or UNMEASURED / SECONDS)
    return Estimate(
        tiles=tiles,
        shards=math.ceil(tiles / shard_size(card.tiles_per_second)),
        seconds=seconds,
        dollars=seconds / 3600 * dollars_per_gpu_hour,
    )


def _guessed(inspection: Inspection, box: tuple[int, int], options: JobOptions) -> int:
    """The tissue is taken as one round piece spread evenly over the slide, and every box that it touches as analysed:
    on average area + 2/pi x perimeter + 1 boxes for a convex shape, in units of a box (Santalo, Integral Geometry,
    1976). A region has its share of them."""
    width, height = box
    seen = _inside(inspection, options.region)
    covered = inspection.tissue_fraction * seen[0] * seen[1] / (width * height)
    touched = covered + 4 * math.sqrt(covered / math.pi) + 1 if covered else 0
    if options.outline is not None:
        touched = _touched(options.outline, width, height)
    return min(math.ceil(touched), math.ceil(seen[0] / width) * math.ceil(seen[1] / height))


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
