"""Dry runs: tiles, seconds and dollars of a job that is not started. Its tiles are counted on the mask that inspection
stored or the user drew; no byte of the slide is read."""

from __future__ import annotations

import math
from typing import Final

from wsi.inspection.stored_mask import StoredMask
from wsi.planning.drawn_mask import choose_mask_side, draw_mask
from wsi.planning.estimate import Estimate, check_plannable, compute_region_size, make_estimate
from wsi.planning.grid import count_tiles
from wsi.planning.window_sides import compute_tile_sides
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection

#: Crossings of a drawn region's edges with the mask's rows: about half a second. A plan's limit is in
#: `wsi.planning.drawn_mask`.
MAX_CROSSINGS: Final = 2**20


def estimate(
    inspection: Inspection,
    card: ModelCard,
    options: JobOptions,
    dollars_per_gpu_hour: float,
    *,
    stored: StoredMask | None,
) -> Estimate:
    """Return tiles, shards, seconds and dollars of a job. Raises as `check_plannable` does.

    The tiles are counted, box by box, on the slide's `stored` mask or on the drawn one. The count is `exact` if
    planning will use the same mask. If planning will detect tissue again, with other microns per pixel or newer rules,
    the stored mask gives a near count. Without a mask the count is guessed.
    """
    box = compute_tile_sides(inspection, card, check_plannable(inspection, card, options), options)
    if options.outline is not None:
        mask = draw_mask(options.outline, inspection, MAX_CROSSINGS)
        exact = choose_mask_side(options.outline, inspection, MAX_CROSSINGS) == choose_mask_side(
            options.outline, inspection
        )
    elif stored is not None:
        mask, exact = stored.mask, stored.holds_for(options.mpp)
    else:
        return make_estimate(_guess_tiles(inspection, box, options), card, dollars_per_gpu_hour, exact=False)
    slide = inspection.width, inspection.height
    least = options.min_tissue if card.objects is None else 0  # as planning does
    tiles = count_tiles(mask.pixels, slide=slide, box=box, min_tissue=least, region=options.region)
    return make_estimate(tiles, card, dollars_per_gpu_hour, exact=exact)


def _guess_tiles(inspection: Inspection, box: tuple[int, int], options: JobOptions) -> int:
    """Return an estimated count for a slide without a mask. The tissue is taken as one round piece spread evenly over
    the slide, and every box that it touches as analysed: on average area + 2/pi x perimeter + 1 boxes for a convex
    shape, in units of a box (Santalo, Integral Geometry, 1976). A region has its share of them."""
    width, height = box
    seen = compute_region_size(inspection, options.region)
    covered = inspection.tissue_fraction * seen[0] * seen[1] / (width * height)
    touched = covered + 4 * math.sqrt(covered / math.pi) + 1 if covered else 0
    return min(math.ceil(touched), math.ceil(seen[0] / width) * math.ceil(seen[1] / height))
