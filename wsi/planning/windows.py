"""The grid of a model that finds objects: windows that overlap, on one lattice of the network's px for the whole slide.

A px of the lattice is a fixed fraction of the px of the level that is read, and windows begin where both are whole. So
every window that shows a px gets the same numbers for it, and the objects do not depend on how the slide is cut.
"""

from __future__ import annotations

import math
from typing import Final

from wsi.errors import FailReason, JobFailed
from wsi.objects.table import PixelLattice
from wsi.objects.window import WindowGrid
from wsi.planning.plan import Grid, Plan
from wsi.planning.scale import Microns, describe_too_many_boxes
from wsi.planning.window_sides import RESIZED, choose_window_sides
from wsi.records.model_card import ModelCard, ReadLevel
from wsi.records.slides import Inspection

#: By what share the scale may differ from the card's before the plan warns.
FAR: Final = 0.03


def make_windows(
    inspection: Inspection,
    card: ModelCard,
    mpp: Microns,
    *,
    allow_upsampling: bool = False,
    read_level: ReadLevel | None = None,
) -> Grid:
    """Make the grid of the boxes that windows keep, side by side from the slide's origin. `mpp` are those of level 0.

    Raises as `choose_window_sides` does, and JobFailed for more boxes than `wsi.planning.scale.MAX_BOXES`.
    """
    sides = choose_window_sides(inspection, card, mpp, allow_upsampling=allow_upsampling, read_level=read_level)
    side, side_y = sides.box
    columns, rows = -(-inspection.width // side), -(-inspection.height // side_y)
    if (sentence := describe_too_many_boxes(columns, rows, side, side_y)) is not None:
        raise JobFailed(FailReason.PLANNING_FAILED, sentence)
    return Grid(
        side=side,
        side_y=side_y,
        stride=side,
        stride_y=side_y,
        columns=columns,
        rows=rows,
        level=sides.level,
        level_side=int(card.input_px * sides.across),
        level_side_y=int(card.input_px * sides.along),
        level_downsample=float(sides.down),
        level_downsample_y=float(sides.down),
        kept_px=sides.kept,
        halo_px=sides.halo,
    )


def make_window_grid(plan: Plan) -> WindowGrid:
    """Return the windows of a plan, in px of its lattice."""
    grid, output, lattice = plan.grid, plan.card.objects, make_lattice(plan)
    assert output is not None, "plans with windows have it"
    resized = (lattice.step_x, lattice.step_y) != (grid.level_downsample, grid.level_downsample_y)
    return WindowGrid(
        kept_x=grid.kept_px,
        kept_y=grid.kept_px,
        halo=grid.halo_px,
        margin=output.margin + (RESIZED if resized else 0),
        ring=output.rule.ring,
        stride=output.stride,
        slide_x=math.ceil(plan.inspection.width / lattice.step_x),
        slide_y=math.ceil(plan.inspection.height / lattice.step_y),
    )


def make_lattice(plan: Plan) -> PixelLattice:
    """Return the lattice of a plan with windows."""
    grid = plan.grid
    return PixelLattice(
        step_x=grid.side / grid.kept_px, step_y=grid.side_y / grid.kept_px, mpp_x=plan.mpp, mpp_y=plan.mpp_y
    )


def describe_other_scale(plan_mpp: Microns, grid: Grid, card: ModelCard) -> str | None:
    """Return the warning for windows at another scale than the card's, or None where they are close."""
    found = [grid.side / grid.kept_px * plan_mpp[0], grid.side_y / grid.kept_px * plan_mpp[1]]
    farthest = max(found, key=lambda each: abs(each / card.mpp - 1))
    if abs(farthest / card.mpp - 1) <= FAR:
        return None
    return (
        f"The model sees the slide at {farthest:.4g} µm per pixel in place of {card.mpp:.4g}, the nearest at which its "
        "windows fit each other: objects look that much smaller or larger to it."
    )
