"""The pyramid that a viewer zooms through: the levels that it is offered, and the parts of the file that each tile is
made from. Pure geometry.

A viewer wants levels of which each is twice as coarse as the next; files have levels 2, 4 or 16 times apart, or only
one. Missing levels are made by shrinking tiles of the next finer level, as long as a tile needs few of them. Coarser
than that, the overview that inspection stored takes over. A file's own tiles are offered as they are cut in the file,
so that most answers are its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wsi.records.slides import LevelInfo
from wsi.slide.coding import REDUCTIONS, Reduction

VERSION: Final = 1  #: part of a tile's address; grows with each change of what is offered or of how tiles are made
STEP: Final = 1.9  #: times coarser than the one before, at least: a file's levels are not exactly 2 apart
LEAST_SIDE, MOST_SIDE = 128, 1024  #: px of a tile: smaller ones cost requests, larger ones patience
USUAL_SIDE: Final = 256  #: px of tiles that are put together, at least
CUT_SIDE: Final = 512  #: px of tiles that are cut out of larger ones, and of an overview's
#: px of the file that a tile may need: as many as the largest tile that a reader takes. At 0.14 ms for 256 x 256 px of
#: JPEG, and 2.4 of JPEG 2000, they are decoded in 0.04 s and 0.6 s.
MOST_PIXELS: Final = 4096 * 4096
MOST_TILES: Final = 1024  #: of the file; each has a place of its own there, and a call of its decoder


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewLevel:
    width: int  #: px of this level
    height: int
    downsample: float  #: level-0 px per px of this level
    tile_width: int  #: px; those at the right edge end with the level
    tile_height: int
    level: int | None  #: of the file, which its tiles are made from; None: the overview
    reduction: Reduction = 1  #: px of that level (of the overview) per px of this one, along each side

    @property
    def columns(self) -> int:
        return -(-self.width // self.tile_width)

    @property
    def rows(self) -> int:
        return -(-self.height // self.tile_height)

    def find_box(self, column: int, row: int) -> Box | None:
        """Return the box of a tile, or None for a tile that the level does not have."""
        if not (0 <= column < self.columns and 0 <= row < self.rows):
            return None
        left, top = column * self.tile_width, row * self.tile_height
        return Box(left, top, min(left + self.tile_width, self.width), min(top + self.tile_height, self.height))


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in px of a level; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    def scale_up(self, factor: int) -> Box:
        """Return the same place in a level whose px are `factor` times smaller."""
        return Box(self.left * factor, self.top * factor, self.right * factor, self.bottom * factor)

    def scale_down(self, factor: int) -> Box:
        """Return the same place in a level whose px are `factor` times larger, rounded down to whole px."""
        return Box(self.left // factor, self.top // factor, self.right // factor, self.bottom // factor)

    def intersect(self, other: Box) -> Box:
        """Return the part that both boxes cover."""
        return Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def move_origin(self, left: int, top: int) -> Box:
        """Return the box in px that count from (`left`, `top`)."""
        return Box(self.left - left, self.top - top, self.right - left, self.bottom - top)


@dataclass(frozen=True, slots=True)
class FileTile:
    index: int  #: row-major in its level's grid
    box: Box  #: px of its level, past the edge too


def build_levels(levels: Sequence[LevelInfo]) -> tuple[ViewLevel, ...]:
    """Return the levels that can be offered by reading tiles of a file's `levels`, both with the finest first. Levels
    whose tiles would cost too much are left out, and so are those too close to another one."""
    found: list[ViewLevel] = []
    for number, info in enumerate(levels):
        if found and info.downsample < STEP * found[-1].downsample:
            continue
        coarser = (other.downsample for other in levels[number + 1 :])
        following = next((other for other in coarser if other >= STEP * info.downsample), float("inf"))
        for reduction in REDUCTIONS:
            level = _shrink_level(info, number, reduction)
            if reduction > 1 and (level.downsample * STEP > following or _is_one_tile(found)):
                break
            if _is_affordable(info, level):
                found.append(level)
    return tuple(found)


def needs_overview(found: Sequence[ViewLevel]) -> bool:
    """Return whether the coarsest level is too large for a viewer to start with."""
    return not found or max(found[-1].width, found[-1].height) > 2 * CUT_SIDE


def with_overview(
    found: Sequence[ViewLevel], *, slide: tuple[int, int], overview: tuple[int, int]
) -> tuple[ViewLevel, ...]:
    """Return the same levels and coarser ones that are made from an image of the whole slide. `slide` and `overview`
    are their widths and heights in px; the slide may fill only a part of the overview's last px."""
    every = list(found)
    width, height = overview
    for reduction in REDUCTIONS:
        downsample = max(slide) / max(overview) * reduction
        if every and (downsample < STEP * every[-1].downsample or _is_one_tile(every)):
            continue
        every.append(
            ViewLevel(
                width=max(1, width // reduction),
                height=max(1, height // reduction),
                downsample=downsample,
                tile_width=CUT_SIDE,
                tile_height=CUT_SIDE,
                level=None,
                reduction=reduction,
            )
        )
    return tuple(every)


def iterate_file_tiles(info: LevelInfo, box: Box) -> Iterator[FileTile]:
    """Yield the tiles of a level of the file that hold px of `box`, row by row."""
    across = -(-info.width // info.tile_width)
    down = -(-info.height // info.tile_height)
    columns = range(box.left // info.tile_width, min(-(-box.right // info.tile_width), across))
    rows = range(box.top // info.tile_height, min(-(-box.bottom // info.tile_height), down))
    for row in rows:
        for column in columns:
            left, top = column * info.tile_width, row * info.tile_height
            yield FileTile(row * across + column, Box(left, top, left + info.tile_width, top + info.tile_height))


def choose_tile_side(side: int) -> int:
    """Return the px of a viewer's tile where the file's have `side`: that many, several of them, or an equal part of
    one."""
    if side < LEAST_SIDE:
        return side * -(-USUAL_SIDE // side)
    if side <= MOST_SIDE:
        return side
    parts = (number for number in range(-(-side // MOST_SIDE), side // LEAST_SIDE + 1) if side % number == 0)
    return next((side // number for number in parts), CUT_SIDE)


def _shrink_level(info: LevelInfo, number: int, reduction: Reduction) -> ViewLevel:
    """Return the level shrunk, without its partial last row and column, which are not shown."""
    return ViewLevel(
        width=max(1, info.width // reduction),
        height=max(1, info.height // reduction),
        downsample=info.downsample * reduction,
        tile_width=choose_tile_side(info.tile_width),
        tile_height=choose_tile_side(info.tile_height),
        level=number,
        reduction=reduction,
    )


def _is_one_tile(found: Sequence[ViewLevel]) -> bool:
    return bool(found) and found[-1].columns == found[-1].rows == 1


def _is_affordable(info: LevelInfo, level: ViewLevel) -> bool:
    """Return whether a tile needs few enough of the file's tiles, wherever it is."""
    across = _count_touched(level.tile_width * level.reduction, info.tile_width, info.width)
    down = _count_touched(level.tile_height * level.reduction, info.tile_height, info.height)
    tiles = across * down
    return tiles <= MOST_TILES and tiles * info.tile_width * info.tile_height <= MOST_PIXELS


def _count_touched(side: int, tile: int, whole: int) -> int:
    """Return the number of file tiles that a stretch of `side` px needs, wherever in the row of such stretches it
    is."""
    aligned = side % tile == 0 or tile % side == 0
    return min(-(-side // tile) + (not aligned), -(-whole // tile))
