"""The scale at which a slide is read. Microns decide, never magnification: "20x" spans 0.23 to 0.55 um a pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.coding import REDUCTIONS, Reduction
from wsi.slide.mpp import get_valid_mpp

#: How much coarser than the model's mpp a level may be. Scanners write 0.499 for 0.5 and pyramids 4.0003 for 4:
#: a strict comparison would read a level with 16 times the pixels for a difference that nobody sees.
TOLERANCE = 1.02
#: How much longer than wide a pixel may be and still count as square. Scanners' stage calibration differs by some
#: tenths of a percent.
SQUARE = 1.01
#: How much longer than wide a pixel may be at all. Line scanners with binning along one axis make twice; an inch taken
#: for a centimetre on one axis makes 2.54.
ELONGATED = 2.1
#: Share of a box's side that rounding it to whole reduced pixels may cost: half of what `TOLERANCE` allows.
WHOLE = 0.01
#: Boxes of a grid, tissue or not. 200,000 x 200,000 px in boxes of 64 px make 9.8 million; more comes of a wrong mpp.
MAX_BOXES: Final = 2**24

Microns = tuple[float, float]  #: um per px, across and down


def compute_grid_mpp(inspection: Inspection) -> Microns:
    """Return the microns per level-0 px that size the boxes. Axes that differ by up to 1 % count as equal, at their
    mean.

    Raises SlideRejected NO_MPP, MPP_CONFLICT and ABSURD_MPP, the latter for pixels above `ELONGATED` too.
    """
    mpp_x, mpp_y = get_valid_mpp(inspection)
    longer = max(mpp_x, mpp_y) / min(mpp_x, mpp_y)
    if longer > ELONGATED:
        raise SlideRejected(
            RejectReason.ABSURD_MPP,
            f"The file claims {mpp_x:.4g} microns per pixel across and {mpp_y:.4g} down, which no scanner makes: state "
            "the true resolution with the slide (`mpp`).",
        )
    mean = (mpp_x + mpp_y) / 2
    return (mpp_x, mpp_y) if longer > SQUARE else (mean, mean)


def compute_downsamples(levels: Sequence[LevelInfo], number: int) -> Microns:
    """Return level-0 px per px of level `number`, across and down. Both are equal unless the level is squeezed along
    one axis by more than 1 %, and by more than rounding its sides to whole pixels can do."""
    first, level = levels[0], levels[number]
    across, down = first.width / level.width, first.height / level.height
    rounded = abs(level.width * first.height - level.height * first.width) <= first.width + first.height
    if rounded or max(across, down) <= min(across, down) * SQUARE:
        return level.downsample, level.downsample
    return across, down


def compute_level_mpp(levels: Sequence[LevelInfo], number: int, mpp: Microns) -> Microns:
    """Return microns per px of level `number`, where `mpp` are those of level 0."""
    across, down = compute_downsamples(levels, number)
    return mpp[0] * across, mpp[1] * down


def choose_level(
    levels: Sequence[LevelInfo], mpp: Microns, target_mpp: float, *, allow_upsampling: bool = False
) -> int:
    """Return the number of the coarsest level that on neither axis is coarser than `target_mpp` (microns a pixel) by
    more than the tolerance.

    `mpp` are those of level 0. Raises SlideRejected SLIDE_TOO_COARSE when even level 0 is coarser, unless
    `allow_upsampling`: pixels that the scanner never saw would pass for detail.
    """
    coarser = [max(compute_level_mpp(levels, number, mpp)) for number in range(len(levels))]
    fitting = [number for number, found in enumerate(coarser) if found <= target_mpp * TOLERANCE]
    if fitting:
        return max(fitting, key=lambda number: levels[number].downsample)
    if allow_upsampling:
        return 0
    raise SlideRejected(
        RejectReason.SLIDE_TOO_COARSE,
        f"The slide has {max(mpp):.4g} µm per pixel and the model needs {target_mpp:.4g} or finer: scan it at a higher "
        "magnification, or allow upsampling and take the results with care.",
    )


def may_enlarge(card: ModelCard, mpp: Microns, *, asked: bool) -> bool:
    """Return whether a slide of `mpp` at level 0 may be enlarged to the model's: if the job requests it, or if the card
    allows it and the slide is not coarser than those that the model was found to hold for."""
    return asked or (card.allow_upsampling and (card.mpp_range is None or max(mpp) <= card.mpp_range[1] * TOLERANCE))


def is_in_range(card: ModelCard, mpp: Microns) -> bool:
    """Return whether the model was found to hold for slides of `mpp` at level 0; True if its card states no range."""
    if card.mpp_range is None:
        return True
    finest, coarsest = card.mpp_range
    return finest <= min(mpp) * TOLERANCE and max(mpp) <= coarsest * TOLERANCE


def choose_reduction(level: LevelInfo, mpp: Microns, target_mpp: float, sides: tuple[float, float]) -> Reduction:
    """Return the strongest reduction that tiles of `level` can be decoded at. The result is no coarser than
    `choose_level` allows, file tiles are whole in reduced pixels, and boxes of `sides` px of the level change by
    `WHOLE` at most."""
    for reduction in sorted(REDUCTIONS, reverse=True):
        fine = max(mpp) * reduction <= target_mpp * TOLERANCE
        tiles = level.tile_width % reduction == 0 == level.tile_height % reduction
        if fine and tiles and all(abs(round(side / reduction) * reduction / side - 1) <= WHOLE for side in sides):
            return reduction
    return 1


def compute_box_sides(card: ModelCard, mpp: Microns) -> tuple[int, int]:
    """Return width and height in level-0 px of a model tile's box, square in microns, on a slide of `mpp`."""
    width, height = (max(1, round(card.tile_px * card.mpp / each)) for each in mpp)
    return width, height


def describe_too_many_boxes(columns: int, rows: int, side: int, side_y: int) -> str | None:
    """Return the message for a grid of more than `MAX_BOXES` boxes, or None for a smaller one."""
    if columns * rows <= MAX_BOXES:
        return None
    return (
        f"The slide would be cut into {columns * rows:,} tiles of {side} x {side_y} px, more than "
        f"{MAX_BOXES:,}: check its µm per pixel, or take a model with larger tiles."
    )
