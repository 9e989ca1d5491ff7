"""Which scale to read a slide at. Microns decide, never magnification: "20x" spans 0.23 to 0.55 um a pixel."""

from __future__ import annotations

from collections.abc import Sequence

from wsi.errors import RejectReason, SlideRejected
from wsi.model_card import ModelCard
from wsi.records.slides import Inspection, LevelInfo
from wsi.slide.mpp import checked_mpp

#: How much coarser than the model's mpp a level may be. Scanners write 0.499 for 0.5 and pyramids 4.0003 for 4:
#: a strict comparison would read a level with 16 times the pixels for a difference that nobody sees.
TOLERANCE = 1.02
#: How much longer than wide a pixel may be. Scanners' stage calibration differs by some tenths of a percent.
SQUARE = 1.01


def grid_mpp(inspection: Inspection) -> float:
    """Microns per level-0 px that boxes are sized by: the mean of both axes.

    Raises SlideRejected NO_MPP and ABSURD_MPP, the latter for pixels that are not square too: a square box of them
    would show the model stretched tissue.
    """
    mpp_x, mpp_y = checked_mpp(inspection)
    if max(mpp_x, mpp_y) > min(mpp_x, mpp_y) * SQUARE:
        raise SlideRejected(
            RejectReason.ABSURD_MPP,
            f"The file claims {mpp_x:.4g} microns per pixel across and {mpp_y:.4g} down, and models need square "
            "pixels: pass the true resolution (`mpp`) if the file is wrong.",
        )
    return (mpp_x + mpp_y) / 2


def choose_level(levels: Sequence[LevelInfo], mpp: float, target_mpp: float, *, allow_upsampling: bool = False) -> int:
    """The coarsest level that is not coarser than `target_mpp` (microns a pixel) by more than the tolerance.

    `mpp` is that of level 0. Raises SlideRejected SLIDE_TOO_COARSE when even level 0 is coarser, unless
    `allow_upsampling`: pixels that the scanner never saw would pass for detail.
    """
    fitting = [number for number, level in enumerate(levels) if mpp * level.downsample <= target_mpp * TOLERANCE]
    if fitting:
        return max(fitting, key=lambda number: levels[number].downsample)
    if allow_upsampling:
        return 0
    raise SlideRejected(
        RejectReason.SLIDE_TOO_COARSE,
        f"The slide has {mpp:.4g} µm per pixel and the model needs {target_mpp:.4g} or finer: scan it at a higher "
        "magnification, or allow upsampling and take the results with care.",
    )


def box_side(card: ModelCard, mpp: float) -> int:
    """Side of a model tile's box in level-0 px, for a slide of `mpp` microns a pixel."""
    return max(1, round(card.tile_px * card.mpp / mpp))
