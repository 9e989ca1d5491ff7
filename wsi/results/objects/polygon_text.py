"""The coordinates of many polygons as text, although each has another number of vertices: every vertex is a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.objects.rings import PARTS, close_rings, place_halves
from wsi.objects.table import ObjectTable, PixelLattice
from wsi.results.decimal_text import write_decimals

END = b"\r"  #: behind every text of a row that is split again; no text of ours holds it
_PLACES = len(str(PARTS)) - 1  #: after the point


class PolygonTexts:
    """The texts of polygons of one lattice, in px from `corner`, which is in level-0 px."""

    def __init__(self, lattice: PixelLattice, corner: tuple[int, int]) -> None:
        self._x = _AxisTexts(lattice.step_x, corner[0], before=b"[", after=b",")
        self._y = _AxisTexts(lattice.step_y, corner[1], before=b"", after=b"]")

    def write(self, table: ObjectTable) -> list[bytes]:
        """Return the `coordinates` of a GeoJSON polygon for each object, without the brackets "[[" that begin them."""
        rings = close_rings(table)
        x, y = (axis.take(rings.places) for axis in table.vertices.T)
        left, right = self._x.write(x), self._y.write(y)
        rows = np.zeros((len(x), left.shape[1] + right.shape[1] + 3), np.uint8)
        rows[:, : left.shape[1]] = left
        rows[:, left.shape[1] : -3] = right
        rows[:, -3] = ord(",")
        ends = rings.first_places[1:] - 1
        rows[ends, -3:] = np.frombuffer(b"],[", np.uint8)
        rows[ends[table.first_rings[1:] - 1], -3:] = np.frombuffer(b"]]" + END, np.uint8)
        return split_texts(rows.tobytes().translate(None, b"\0"))


def split_texts(joined: bytes) -> list[bytes]:
    """Return the texts, each of which END follows."""
    return joined.split(END)[:-1]


class _AxisTexts:
    """The texts of all coordinates along one axis that came so far: there are few, since they are whole half px."""

    def __init__(self, step: float, corner: int, *, before: bytes, after: bytes) -> None:
        self._step, self._corner = step, corner
        self._around = before, after
        self._low = self._high = 0
        self._texts = np.zeros((0, 0), np.uint8)

    def write(self, halves: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return the texts of coordinates in half px of the lattice, [n, width], filled up with NUL anywhere."""
        if len(halves):
            self._cover(int(halves.min()), int(halves.max()) + 1)
        return self._texts[halves - self._low]

    def _cover(self, low: int, high: int) -> None:
        if self._low <= low and high <= self._high:
            return
        if self._high > self._low:
            low, high = min(low, self._low), max(high, self._high)
        spare = (high - low) // 4  # so that a few of such steps reach the end of any slide
        self._low, self._high = low - spare, high + spare
        numbers = place_halves(np.arange(self._low, self._high), self._step) - self._corner * PARTS
        texts = write_decimals(numbers, _PLACES)
        before, after = (np.frombuffer(text, np.uint8) for text in self._around)
        block = texts.view(np.uint8).reshape(len(texts), -1)
        count = len(texts)
        self._texts = np.concatenate(
            [np.tile(before, (count, 1)), block[:, block.any(axis=0)], np.tile(after, (count, 1))], axis=1
        )
