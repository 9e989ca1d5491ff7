"""The windows that dense outputs are computed of, in px of the network's input, counted from the slide's corner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.records.outputs import ObjectOutput

Boxes = NDArray[np.int64]  #: [n, 4] left, top, right, bottom; right and bottom are beyond the last px


@dataclass(frozen=True, kw_only=True, slots=True)
class PixelBox:
    """A rectangle of px; `right` and `bottom` are beyond its last px."""

    left: int
    top: int
    right: int
    bottom: int

    def reduce(self, by: int) -> PixelBox:
        """Return the box without `by` px at each side."""
        return PixelBox(left=self.left + by, top=self.top + by, right=self.right - by, bottom=self.bottom - by)

    def intersect(self, other: PixelBox) -> PixelBox:
        """Return what lies in both boxes, an empty box if nothing does."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return PixelBox(left=left, top=top, right=max(left, right), bottom=max(top, bottom))

    def touches(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Return of each box whether it shares a px with this one."""
        left, top, right, bottom = boxes.T
        return (left < self.right) & (top < self.bottom) & (right > self.left) & (bottom > self.top)

    def contains(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Return of each box whether it lies within this one."""
        left, top, right, bottom = boxes.T
        return (left >= self.left) & (top >= self.top) & (right <= self.right) & (bottom <= self.bottom)


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowGrid:
    """The windows of a slide. Each keeps the points of its own box, and these boxes tile the plane: box (i, j) begins
    at px (i * kept_x, j * kept_y). All windows are of one size and begin at multiples of the network's stride."""

    kept_x: int  #: px of a kept box, across
    kept_y: int  #: down
    halo: int  #: px of a window around its kept box, at least
    margin: int  #: px from a window's edge within which maps depend on what lies outside
    ring: int  #: px around an object that decide which px are its own
    stride: int  #: px
    slide_x: int  #: px that the slide covers, wholly or in part, across: beyond them there are no objects
    slide_y: int  #: down

    @staticmethod
    def of(output: ObjectOutput, *, kept_x: int, kept_y: int, slide_x: int, slide_y: int) -> WindowGrid:
        """Return the grid of the windows that the output needs."""
        return WindowGrid(
            kept_x=kept_x,
            kept_y=kept_y,
            halo=output.halo,
            margin=output.margin,
            ring=output.rule.ring,
            stride=output.stride,
            slide_x=slide_x,
            slide_y=slide_y,
        )

    @property
    def side_x(self) -> int:
        """Return the px of a window across."""
        return self._side(self.kept_x)

    @property
    def side_y(self) -> int:
        """Return the px of a window down."""
        return self._side(self.kept_y)

    @property
    def slide(self) -> PixelBox:
        """Return the px that the slide covers."""
        return PixelBox(left=0, top=0, right=self.slide_x, bottom=self.slide_y)

    @property
    def sight(self) -> int:
        """Return the px beyond a kept box up to which an object that enters the box is surely seen whole."""
        return self.halo - self.margin - self.ring

    def place_window(self, column: int, row: int) -> Window:
        """Return the window whose kept box is (column, row)."""
        return Window(column=column, row=row, grid=self)

    def locate_boxes(self, points: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return [n, 2] column and row of the kept boxes that hold the points [n, 2]."""
        return points.astype(np.int64) // (self.kept_x, self.kept_y)

    def locate_trusted(self, places: NDArray[np.int64]) -> Boxes:
        """Return the trusted boxes of windows by [n, 2] columns and rows."""
        starts = (places * (self.kept_x, self.kept_y) - self.halo) // self.stride * self.stride
        ends = starts + np.array([self.side_x, self.side_y])
        return np.concatenate([starts + self.margin, ends - self.margin], axis=1)

    def _side(self, kept: int) -> int:
        #: A kept box that begins between two multiples of the stride has its window begin earlier.
        moved = 0 if kept % self.stride == 0 and self.halo % self.stride == 0 else self.stride - 1
        return -(-(kept + 2 * self.halo + moved) // self.stride) * self.stride


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A window of the grid."""

    column: int  #: of its kept box
    row: int
    grid: WindowGrid

    @property
    def left(self) -> int:
        return (self.column * self.grid.kept_x - self.grid.halo) // self.grid.stride * self.grid.stride

    @property
    def top(self) -> int:
        return (self.row * self.grid.kept_y - self.grid.halo) // self.grid.stride * self.grid.stride

    @property
    def box(self) -> PixelBox:
        """Return the px that the network gets."""
        return PixelBox(
            left=self.left, top=self.top, right=self.left + self.grid.side_x, bottom=self.top + self.grid.side_y
        )

    @property
    def kept(self) -> PixelBox:
        """Return the px whose objects' points are the window's own."""
        left, top = self.column * self.grid.kept_x, self.row * self.grid.kept_y
        return PixelBox(left=left, top=top, right=left + self.grid.kept_x, bottom=top + self.grid.kept_y)

    @property
    def trusted(self) -> PixelBox:
        """Return the px whose maps do not depend on what lies outside of the window."""
        return self.box.reduce(self.grid.margin)
