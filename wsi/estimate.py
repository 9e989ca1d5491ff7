"""What a job would cost: arithmetic on what inspection stored; no byte of the slide is read. Needs no numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from wsi.bitmap import Bitmap
from wsi.counting import count_tiles, too_many_boxes
from wsi.errors import Invalid
from wsi.model_card import ModelCard
from wsi.outline import Outline, missed
from wsi.rasterising import drawn_bitmap, mask_side
from wsi.records.jobs import JobOptions
from wsi.records.slides import Inspection
from wsi.scale import Microns, box_sides, choose_level, grid_mpp, may_enlarge
from wsi.shards import SECONDS, UNMEASURED, shard_size
from wsi.slide.mpp import overridden
from wsi.stored_mask import StoredMask

#: Of a drawn region's edges and the mask's rows: about half a second. `wsi.rasterising.MAX_CROSSINGS` is a plan's.
MAX_CROSSINGS: Final = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    tiles: int
    shards: int
    seconds: float  #: of one device, all shards one after the other
    dollars: float
    exact: bool = False  #: `tiles` are those that planning takes. False where nothing is said: once all were near ones


def check_plannable(inspection: Inspection, card: ModelCard, options: JobOptions) -> Microns:
    """The microns a level-0 pixel of the plan, across and down. Raises what planning would: SlideRejected (mpp,
    SLIDE_TOO_COARSE), and Invalid for too many tiles and for a region off the slide."""
    inspection = overridden(inspection, options.mpp)
    mpp = grid_mpp(inspection)
    enlarging = may_enlarge(card, mpp, asked=options.allow_upsampling)
    choose_level(inspection.levels, mpp, card.mpp, allow_upsampling=enlarging)
    side, side_y = box_sides(card, mpp)
    sentence = too_many_boxes(-(-inspection.width // side), -(-inspection.height // side_y), side, side_y)
    if sentence is None and options.outline is not None:
        sentence = missed(options.outline.on_slide(inspection.bounds), inspection)
    if sentence is not None:
        raise Invalid(sentence)
    if 0 in _inside(inspection, options.region):
        raise Invalid(
            f"The region lies outside the slide of {inspection.width} x {inspection.height} px: state it in pixels of "
            "the full resolution."
        )
    return mpp


def estimate(
    inspection: Inspection,
    card: ModelCard,
    options: JobOptions,
    dollars_per_gpu_hour: float,
    *,
    stored: StoredMask | None,
) -> Estimate:
    """Tiles, shards, seconds and dollars of a job. Raises as `check_plannable` does.

    The tiles are counted, box by box, on the mask that planning will take, `exact` then: the `stored` one of the slide
    or the one that is drawn. Where planning will look for tissue anew, with other microns per pixel or newer rules, the
    stored mask is near; without one the count is guessed.
    """
    box = box_sides(card, check_plannable(inspection, card, options))
    if options.outline is not None:
        mask, exact = _drawn(options.outline, inspection)
    elif stored is not None:
        mask, exact = Bitmap.from_json(stored.mask), stored.holds_for(options.mpp)
    else:
        return priced(_guessed(inspection, box, options), card, dollars_per_gpu_hour, exact=False)
    slide = inspection.width, inspection.height
    tiles = count_tiles(mask, slide=slide, box=box, min_tissue=options.min_tissue, region=options.region)
    return priced(tiles, card, dollars_per_gpu_hour, exact=exact)


def priced(tiles: int, card: ModelCard, dollars_per_gpu_hour: float, *, exact: bool) -> Estimate:
    """What so many tiles take. A model whose rate nobody measured is taken for a slow one."""
    seconds = tiles / (card.tiles_per_second or UNMEASURED / SECONDS)
    return Estimate(
        tiles=tiles,
        shards=math.ceil(tiles / shard_size(card.tiles_per_second)),
        seconds=seconds,
        dollars=cost(seconds, dollars_per_gpu_hour),
        exact=exact,
    )


def cost(worker_seconds: float, dollars_per_gpu_hour: float) -> float:
    """Dollars."""
    return worker_seconds / 3600 * dollars_per_gpu_hour


def _drawn(outline: Outline, inspection: Inspection) -> tuple[Bitmap, bool]:
    exact = mask_side(outline, inspection, MAX_CROSSINGS) == mask_side(outline, inspection)
    return drawn_bitmap(outline, inspection, MAX_CROSSINGS), exact


def _guessed(inspection: Inspection, box: tuple[int, int], options: JobOptions) -> int:
    """The tissue is taken as one round piece spread evenly over the slide, and every box that it touches as analysed:
    on average area + 2/pi x perimeter + 1 boxes for a convex shape, in units of a box (Santalo, Integral Geometry,
    1976). A region has its share of them."""
    width, height = box
    seen = _inside(inspection, options.region)
    covered = inspection.tissue_fraction * seen[0] * seen[1] / (width * height)
    touched = covered + 4 * math.sqrt(covered / math.pi) + 1 if covered else 0
    return min(math.ceil(touched), math.ceil(seen[0] / width) * math.ceil(seen[1] / height))


def _inside(inspection: Inspection, region: tuple[int, int, int, int] | None) -> tuple[int, int]:
    """Width and height of what is analysed, in level-0 px."""
    if region is None:
        return inspection.width, inspection.height
    x, y, width, height = region
    return (
        max(0, min(x + width, inspection.width) - max(x, 0)),
        max(0, min(y + height, inspection.height) - max(y, 0)),
    )
