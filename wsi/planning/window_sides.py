"""The sides of the windows of a model that finds objects. Needs no numpy: the API counts tiles by them too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wsi.errors import FailReason, JobFailed
from wsi.planning.scale import Microns, choose_level, compute_box_sides, may_enlarge
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard, ReadLevel
from wsi.records.slides import Inspection, LevelInfo

#: Largest denominator of level px a px of the network's input: windows begin at multiples of it.
MOST_PARTS: Final = 16
#: By what share the scale may differ from the card's before a finer fraction is taken.
CLOSE: Final = 0.015
#: Px of the network's input at a window's edge that are resized from fewer px of the level than others.
RESIZED: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowSides:
    """The windows on one slide: the level that they are read from, and their sides."""

    level: int
    down: int  #: level-0 px a px of the level
    across: Fraction  #: px of the level a px of the network's input, across
    along: Fraction  #: down
    kept: int  #: px of the network's input that a window keeps
    halo: int  #: px of the network's input around them

    @property
    def box(self) -> tuple[int, int]:
        """Return width and height in level-0 px of what a window keeps."""
        return int(self.kept * self.across * self.down), int(self.kept * self.along * self.down)


def choose_window_sides(
    inspection: Inspection,
    card: ModelCard,
    mpp: Microns,
    *,
    allow_upsampling: bool = False,
    read_level: ReadLevel | None = None,
) -> WindowSides:
    """Return the sides of a card's windows. `mpp` are those of level 0.

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
    return WindowSides(level=level, down=down, across=across, along=along, kept=kept, halo=halo)


def compute_tile_sides(inspection: Inspection, card: ModelCard, mpp: Microns, options: JobOptions) -> tuple[int, int]:
    """Return width and height in level-0 px of a tile of any model. Raises as `choose_window_sides` does."""
    if card.objects is None:
        return compute_box_sides(card, mpp)
    return choose_window_sides(
        inspection, card, mpp, allow_upsampling=options.allow_upsampling, read_level=options.read_level
    ).box


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
