"""The grid of a model that finds objects: windows that overlap, on one lattice of the network's px for the whole slide.

A px of the lattice is a fixed fraction of the px of the level that is read, and windows begin where both are whole. So
every window that shows a px gets the same numbers for it, and the objects do not depend on how the slide is cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wsi.errors import FailReason, JobFailed
from wsi.objects.table import PixelLattice
from wsi.objects.window import WindowGrid
from wsi.planning.plan import Grid, Plan
from wsi.planning.scale import Microns, choose_level, may_enlarge
from wsi.records.model_card import ModelCard, ReadLevel
from wsi.records.slides import Inspection, LevelInfo

#: Largest denominator of level px a px of the lattice: windows begin at multiples of it.
MOST_PARTS: Final = 16
#: By what share the scale may differ from the card's before a finer fraction is taken, and before the plan warns.
CLOSE, FAR = 0.015, 0.03
#: Px of the lattice at a window's edge that are resized from fewer px of the level than others.
RESIZED: Final = 2


def make_windows(
    inspection: Inspection,
    card: ModelCard,
    mpp: Microns,
    *,
    allow_upsampling: bool = False,
    read_level: ReadLevel | None = None,
) -> Grid:
    """Make the grid of the boxes that windows keep, side by side from the slide's origin. `mpp` are those of level 0.

    Raises SlideRejected SLIDE_TOO_COARSE, and JobFailed for a model whose windows are too small to keep anything.
    """
    output = card.objects
    assert output is not None, "cards of this kind have it"
    enlarging = may_enlarge(card, mpp, asked=allow_upsampling)
    level = choose_level(inspection.levels, mpp, card.mpp, allow_upsampling=enlarging)
    if (read_level or card.read_level) is ReadLevel.FINEST or not _is_whole(inspection.levels, level):
        level = 0
    down = round(inspection.levels[level].downsample)
    parts = _list_parts(card.input_px, output.stride)
    across, along = (_choose_fraction(card.mpp / (each * down), parts) for each in mpp)
    unit = math.lcm(output.stride, across.denominator, along.denominator)
    halo = -(-(output.halo + (RESIZED if (across, along) != (1, 1) else 0)) // unit) * unit
    kept = card.input_px - 2 * halo
    if kept <= 0:
        raise JobFailed(
            FailReason.PLANNING_FAILED,
            f"The model's windows of {card.input_px} px keep nothing: objects of {output.largest} px need {halo} px "
            "around what is kept. Take a model with a larger input_px, or with smaller objects.",
        )
    side, side_y = (int(kept * each * down) for each in (across, along))
    return Grid(
        side=side,
        side_y=side_y,
        stride=side,
        stride_y=side_y,
        columns=-(-inspection.width // side),
        rows=-(-inspection.height // side_y),
        level=level,
        level_side=int(card.input_px * across),
        level_side_y=int(card.input_px * along),
        level_downsample=float(down),
        level_downsample_y=float(down),
        kept_px=kept,
        halo_px=halo,
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


def _is_whole(levels: Sequence[LevelInfo], number: int) -> bool:
    """Return whether a px of the level spans a whole number of level-0 px, but for what rounding its sides did."""
    first, level = levels[0], levels[number]
    down = round(level.downsample)
    return all(
        abs(whole / down - part) < 1 for whole, part in ((first.width, level.width), (first.height, level.height))
    )


def _list_parts(side: int, stride: int) -> tuple[int, ...]:
    """Return the denominators that divide a window of `side` px along with its stride."""
    return tuple(parts for parts in range(1, MOST_PARTS + 1) if side % math.lcm(parts, stride) == 0)


def _choose_fraction(ratio: float, parts: Sequence[int]) -> Fraction:
    """Return the simplest fraction that is close to `ratio`, or the closest one. Raises JobFailed without any."""
    if not parts:
        raise JobFailed(
            FailReason.PLANNING_FAILED, "The model's input_px is no multiple of its stride, as windows must be."
        )
    found = [Fraction(max(1, round(ratio * part)), part) for part in parts]
    close = [each for each in found if abs(float(each) / ratio - 1) <= CLOSE]
    return close[0] if close else min(found, key=lambda each: abs(float(each) / ratio - 1))
