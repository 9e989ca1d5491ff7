"""How many tiles a box of any size would give, from what inspection keeps of the real mask. Needs no numpy."""

from __future__ import annotations

import base64
import math
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

CELLS: Final = 56  #: cells of the coarse map a side
FULL: Final = 15  #: of a cell: all tissue
UNIT: Final = 1_000_000  #: shares are kept in millionths
LOOKED_UP: Final = 1.0  #: cells a side from which a box is looked up on the map
#: Shares of a box, across and down, by which grids are moved that the map is compared with the table by.
MOVED: Final = ((0.125, 0.625), (0.375, 0.125), (0.625, 0.875), (0.875, 0.375))

Box = tuple[int, int]  #: width, height; level-0 px
Region = tuple[int, int, int, int]  #: x, y, width, height; level-0 px
Span = tuple[float, float]  #: from, to along one axis
Sums = list[list[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TileCounts:
    """Large boxes are looked up one by one on a coarse map of the tissue, since where the grid's lines fall decides.
    Small ones follow a table: what they cover grows smoothly with a box's side, from the tissue's own area by about its
    outline x side; those that pass the slide's edge are counted back in by the edge."""

    sides: tuple[int, ...]  #: level-0 px, ascending
    least: tuple[float, ...]  #: `min_tissue`, ascending from 0 to 1
    #: for each of `least`, by side: millionths of the slide's area that the boxes taken cover
    covered: tuple[tuple[int, ...], ...]
    tissue: int  #: millionths of the slide's area: what `covered` is at side 0
    right: int  #: millionths of the slide's right edge that are tissue
    bottom: int
    bounds: Region  #: of all tissue
    cells: str  #: CELLS x CELLS shares of tissue within `bounds` in FULLths, row-major: a nibble each, zlib, base64

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> TileCounts:
        left, top, width, height = value["bounds"]
        return TileCounts(
            sides=tuple(value["sides"]),
            least=tuple(value["least"]),
            covered=tuple(tuple(row) for row in value["covered"]),
            tissue=value["tissue"],
            right=value["right"],
            bottom=value["bottom"],
            bounds=(left, top, width, height),
            cells=value["cells"],
        )

    def tiles(self, slide: Box, box: Box, min_tissue: float, region: Region | None = None) -> int:
        """Of a grid of `box` on `slide`, as `wsi.grid.select_tiles` takes them. `region` must overlap the slide."""
        if not self.tissue:
            return 0
        cell = self.bounds[2] / CELLS, self.bounds[3] / CELLS
        columns = _overlapping(slide[0], box[0], (region[0], region[0] + region[2]) if region else None)
        rows = _overlapping(slide[1], box[1], (region[1], region[1] + region[3]) if region else None)
        if box[0] >= LOOKED_UP * cell[0] and box[1] >= LOOKED_UP * cell[1]:
            return self._looked_up(slide, box, min_tissue, columns, rows)
        covered = self._covered(math.sqrt(box[0] * box[1]), min_tissue) * slide[0] * slide[1]
        if region is None:
            past_right, past_bottom = len(columns) * box[0] - slide[0], len(rows) * box[1] - slide[1]
            covered += self.right / UNIT * slide[1] * past_right + self.bottom / UNIT * slide[0] * past_bottom
        else:
            covered = (
                cell[0]
                * cell[1]
                * _covered_within(
                    self._map(),
                    _in_cells(columns, box[0], self.bounds[0], cell[0]),
                    _in_cells(rows, box[1], self.bounds[1], cell[1]),
                    covered / (cell[0] * cell[1]),
                )
            )
        return min(round(covered / (box[0] * box[1])), len(columns) * len(rows))

    def _covered(self, side: float, min_tissue: float) -> float:
        """Share of the slide's area: linear between the sides and the thresholds of the table."""
        upper = min(bisect_right(self.least, min_tissue), len(self.least) - 1)
        low, high = self.least[upper - 1], self.least[upper]
        part = min((min_tissue - low) / (high - low), 1.0)
        below, above = (_at((0, *self.sides), (self.tissue, *self.covered[row]), side) for row in (upper - 1, upper))
        return (below + (above - below) * part) / UNIT

    def _looked_up(self, slide: Box, box: Box, min_tissue: float, columns: range, rows: range) -> int:
        """Within a cell nobody knows where tissue lies, so that shares on the map are blurred. Which of them counts as
        `min_tissue` is found with other grids of the same boxes: the one at which these cover what the table says."""
        left, top, width, height = self.bounds
        within = _within(self._map())
        x, y = (
            _meeting(boxes, side, low, extent)
            for boxes, side, low, extent in ((columns, box[0], left, width), (rows, box[1], top, height))
        )
        all_x = _meeting(_overlapping(slide[0], box[0], None), box[0], left, width)
        all_y = _meeting(_overlapping(slide[1], box[1], None), box[1], top, height)
        wanted = self._covered(math.sqrt(box[0] * box[1]), min_tissue) * slide[0] * slide[1] * len(MOVED)
        moved = [
            found
            for across, down in MOVED
            for found in self._shares(within, slide, box, _wider(all_x), _wider(all_y), across, down)
        ]
        least = 2.0
        for share, area in sorted(moved, reverse=True):
            if wanted <= 0:
                break
            wanted, least = wanted - area, share
        return sum(share >= least for share, _ in self._shares(within, slide, box, x, y, 0.0, 0.0))

    def _shares(
        self, within: Sums, slide: Box, box: Box, columns: range, rows: range, right: float, down: float
    ) -> list[tuple[float, float]]:
        """(share of tissue, area in px) of boxes with any, of a grid that is moved by so much of a box."""
        left, top, width, height = self.bounds
        cell = width / CELLS, height / CELLS
        x = [span for column in columns if (span := _clipped((column + right) * box[0], box[0], slide[0]))]
        found: list[tuple[float, float]] = []
        for row in rows:
            span = _clipped((row + down) * box[1], box[1], slide[1])
            if span is None:
                continue
            above, below = (_row_at(within, (at - top) / cell[1]) for at in span)
            band = [low - high for high, low in zip(above, below, strict=True)]
            for x0, x1 in x:
                tissue = _value_at(band, (x1 - left) / cell[0]) - _value_at(band, (x0 - left) / cell[0])
                if tissue > 0:
                    area = (x1 - x0) * (span[1] - span[0])
                    found.append((round(tissue * cell[0] * cell[1] / area, 9), area))
        return found

    def _map(self) -> list[list[float]]:
        packed = zlib.decompress(base64.b64decode(self.cells))
        flat = [share / FULL for byte in packed for share in (byte >> 4, byte & 15)]
        return [flat[row * CELLS : (row + 1) * CELLS] for row in range(CELLS)]


def _overlapping(slide: int, side: int, region: Span | None) -> range:
    """Numbers of the boxes along one axis that the region, or the slide, overlaps."""
    low, high = (max(region[0], 0), min(region[1], slide)) if region else (0, slide)
    return range(math.floor(low / side), math.ceil(high / side))


def _meeting(boxes: range, side: int, low: int, extent: int) -> range:
    """Those of `boxes` that meet `extent` px from `low` on."""
    return range(max(boxes.start, low // side), min(boxes.stop, -(-(low + extent) // side)))


def _wider(boxes: range) -> range:
    return range(boxes.start - 1, boxes.stop + 1)


def _clipped(start: float, side: int, slide: int) -> Span | None:
    span = max(start, 0.0), min(start + side, slide)
    return span if span[0] < span[1] else None


def _in_cells(boxes: range, side: int, low: int, cell: float) -> Span:
    return (boxes.start * side - low) / cell, (boxes.stop * side - low) / cell


def _within(cells: list[list[float]]) -> Sums:
    """[CELLS + 1][CELLS + 1] sums of all cells above and left of each corner."""
    sums = [[0.0] * (CELLS + 1)]
    for row in cells:
        sums.append([above + below for above, below in zip(sums[-1], _running(row), strict=True)])
    return sums


def _running(values: Sequence[float]) -> list[float]:
    """Sums of the first 0, 1, 2, ... values."""
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return sums


def _value_at(values: Sequence[float], place: float) -> float:
    place = min(max(place, 0.0), len(values) - 1.0)
    low = min(int(place), len(values) - 2)
    return values[low] + (values[low + 1] - values[low]) * (place - low)


def _row_at(rows: Sequence[Sequence[float]], place: float) -> list[float]:
    place = min(max(place, 0.0), len(rows) - 1.0)
    low = min(int(place), len(rows) - 2)
    return [above + (below - above) * (place - low) for above, below in zip(rows[low], rows[low + 1], strict=True)]


def _at(places: Sequence[float], values: Sequence[float], place: float) -> float:
    upper = min(bisect_right(places, place), len(places) - 1)
    low, high = places[upper - 1], places[upper]
    return values[upper - 1] + (values[upper] - values[upper - 1]) * min((place - low) / (high - low), 1.0)


def _covered_within(cells: list[list[float]], across: Span, down: Span, covered: float) -> float:
    """Cells of `across` x `down` that the boxes taken cover.

    Taken boxes lie where tissue is, and reach a little further: the share of each cell, to the power that makes the
    whole map come out as `covered`. A cell deep inside tissue stays 1 at any power.
    """
    shares = sorted({share for row in cells for share in row if share})
    counts = {share: sum(row.count(share) for row in cells) for share in shares}
    low, high = 0.0, 16.0  # falls with the power
    for _ in range(24):
        power = (low + high) / 2
        total = sum(count * share**power for share, count in counts.items())
        low, high = (power, high) if total > covered else (low, power)
    values = {share: share**low for share in shares} | {0.0: 0.0}
    left_over = covered / sum(counts[share] * values[share] for share in shares)
    weights = [_overlap(column, across) for column in range(CELLS)]
    part = sum(
        tall * sum(wide * values[share] for wide, share in zip(weights, row, strict=True) if wide)
        for row, tall in ((cells[number], _overlap(number, down)) for number in range(CELLS))
        if tall
    )
    return part * max(left_over, 1.0)


def _overlap(cell: int, span: Span) -> float:
    return max(0.0, min(cell + 1, span[1]) - max(cell, span[0]))
