"""Convex hulls of many objects at once, and the measures that depend on them alone.

Vertices are whole numbers, so that a hull is exact. All arrays are flat: hull k is a part of one array of corners.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BITS = 21  #: of a coordinate in a key that sorts: an object is less than a million px of the lattice wide
_MASK = (1 << _BITS) - 1


class Hulls(NamedTuple):
    """The corners of convex hulls, each in one sense of rotation, none on the line between its neighbours."""

    corners: NDArray[np.int64]  #: [c, 2] x, y, counted from the first vertex of the object
    firsts: NDArray[np.intp]  #: [n + 1] corners of hull k are firsts[k] to firsts[k + 1]

    @property
    def following(self) -> NDArray[np.intp]:
        """Return the number of the corner after each one."""
        return follow(self.firsts)


def follow(firsts: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the number of the vertex after each one, of rings that vertices firsts[k] to firsts[k + 1] make."""
    following = np.arange(1, int(firsts[-1]) + 1)
    following[firsts[1:] - 1] = firsts[:-1]
    return following


def find_hulls(vertices: NDArray[np.int32], firsts: NDArray[np.integer]) -> Hulls:
    """Return the convex hulls of the rings, of which each has three vertices that are on no line."""
    sizes, starts = np.diff(firsts), firsts[:-1]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    middle = 1 << (_BITS - 1)
    keys = owners.copy()
    for axis in vertices.astype(np.int64).T:
        keys <<= _BITS
        keys |= axis - np.repeat(axis[starts] - middle, sizes)
    keys.sort()  # left to right, then top to bottom; the owners' own order does not change
    x, y = (keys >> _BITS & _MASK) - middle, (keys & _MASK) - middle
    left, right = firsts[:-1], firsts[1:] - 1
    far_x, far_y = np.repeat(x[right] - x[left], sizes), np.repeat(y[right] - y[left], sizes)
    side = (x - np.repeat(x[left], sizes)) * far_y - (y - np.repeat(y[left], sizes)) * far_x
    ends = np.zeros(len(keys), np.bool_)
    ends[left] = ends[right] = True
    below = _bend(x, y, ends, np.flatnonzero((side > 0) | ends), 1)
    above = _bend(x, y, ends, np.flatnonzero((side < 0) | ends), -1)
    above = above[~ends[above]][::-1]  # back to the left, without both ends
    chosen = np.concatenate([below, above])
    chosen = chosen[np.argsort(owners[chosen], kind="stable")]
    counts = np.bincount(owners[chosen], minlength=len(sizes))
    return Hulls(np.stack([x[chosen], y[chosen]], axis=1), np.concatenate([[0], np.cumsum(counts)]).astype(np.intp))


def _bend(
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    ends: NDArray[np.bool_],
    chain: NDArray[np.intp],
    sense: int,
) -> NDArray[np.intp]:
    """Return those places of the chains, each from its left end to its right one, at which they turn in this sense
    alone.

    A place that turns otherwise lies on the inner side of the line between its neighbours, which are in the hull, so
    that all such places may be dropped at once, whatever becomes of the neighbours."""
    while True:
        across, down = np.diff(x[chain]), np.diff(y[chain])
        keep = ends[chain]
        keep[1:-1] |= sense * (across[:-1] * down[1:] - down[:-1] * across[1:]) > 0
        if keep.all():
            return chain
        chain = chain[keep]


def sum_twice_areas(corners: NDArray[np.integer], firsts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return twice the area of each ring of whole coordinates, whatever its sense of rotation."""
    # From the ring's first corner, so that the numbers stay small.
    sizes, starts = np.diff(firsts), firsts[:-1]
    x, y = (axis - np.repeat(axis[starts], sizes) for axis in corners.astype(np.int64).T)
    following = follow(firsts)
    return np.abs(np.add.reduceat(x * y[following] - y * x[following], starts))


def measure_widths(hulls: Hulls, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least width of each hull in any direction, in `unit`, [2] of an x and of a y. One side of the
    narrowest strip around a hull lies on a side of it (M. E. Houle, G. T. Toussaint, IEEE PAMI 10, 1988)."""
    x, y = hulls.corners.T
    after = hulls.following
    before = np.empty_like(after)
    before[after] = np.arange(len(after))
    along, down = x[after] - x, y[after] - y

    def climb(far: NDArray[np.intp], steps: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the last place, in steps, as long as the distance from the side grows: it grows up to one place and
        falls behind it."""
        moving = np.arange(len(far))
        while len(moving):
            place = far[moving]
            then = steps[place]
            grows = along[moving] * (y[then] - y[place]) - down[moving] * (x[then] - x[place]) > 0
            moving = moving[grows]
            far[moving] = then[grows]
        return far

    sizes = np.diff(hulls.firsts)
    start = np.repeat(hulls.firsts[:-1], sizes)
    opposite = start + (np.arange(len(after)) - start + np.repeat(sizes // 2, sizes)) % np.repeat(sizes, sizes)
    far = climb(climb(opposite, after), before)
    heights = (along * (y[far] - y) - down * (x[far] - x)) * unit.prod()
    widths = heights / np.hypot(along * unit[0], down * unit[1])
    return np.minimum.reduceat(widths, hulls.firsts[:-1])


def measure_circles(hulls: Hulls, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the diameter of the smallest circle around each hull, in `unit`, [2] of an x and of a y.

    The circle through two corners and a third one, at which they are seen under the smallest angle, holds all corners
    on the third one's side. It is the smallest if the three make no obtuse angle; otherwise the side across from that
    angle is the next one to try (G. Chrystal, Proc. Edinburgh Math. Soc. 3, 1885)."""
    x, y = (hulls.corners * unit).T.copy()
    diameters = np.zeros(len(hulls.firsts) - 1)
    active, sizes = np.arange(len(diameters)), np.diff(hulls.firsts)
    places = np.arange(len(x))
    one, other = hulls.firsts[:-1].copy(), hulls.firsts[:-1] + 1
    for _ in range(int(sizes.max(initial=0))):
        if not len(active):
            break
        third = _see_narrowest(x, y, places, sizes, one, other)
        ab, bc, ca = (np.hypot(x[q] - x[p], y[q] - y[p]) for p, q in ((one, other), (other, third), (third, one)))
        at_one, at_other = _multiply(x, y, one, other, third), _multiply(x, y, other, third, one)
        at_third = _multiply(x, y, third, one, other)
        twice = np.abs((x[other] - x[one]) * (y[third] - y[one]) - (y[other] - y[one]) * (x[third] - x[one]))
        diameters[active] = np.where(at_third <= 0, ab, ab * bc * ca / twice)
        left = (at_third > 0) & ((at_one < 0) | (at_other < 0))
        one, other = np.where(at_one < 0, third, one)[left], np.where(at_one < 0, other, third)[left]
        active, places, sizes = active[left], places[np.repeat(left, sizes)], sizes[left]
    return diameters


def _multiply(
    x: NDArray[np.float64], y: NDArray[np.float64], at: NDArray[np.intp], one: NDArray[np.intp], other: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the scalar products of the ways from `at` to both others: below 0 where they make an obtuse angle."""
    return (x[one] - x[at]) * (x[other] - x[at]) + (y[one] - y[at]) * (y[other] - y[at])


def _see_narrowest(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    places: NDArray[np.intp],
    sizes: NDArray[np.intp],
    one: NDArray[np.intp],
    other: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return the place of the corner of each hull that sees the other two under the smallest angle."""
    here_x, here_y = x[places], y[places]
    one_x, one_y = np.repeat(x[one], sizes) - here_x, np.repeat(y[one], sizes) - here_y
    other_x, other_y = np.repeat(x[other], sizes) - here_x, np.repeat(y[other], sizes) - here_y
    across = np.abs(one_x * other_y - one_y * other_x)
    is_end = across == 0  # no third corner of a hull lies on the line through two
    across[is_end] = 1.0
    cotangent = (one_x * other_x + one_y * other_y) / across
    cotangent[is_end] = -np.inf
    firsts = np.cumsum(sizes) - sizes
    best = np.maximum.reduceat(cotangent, firsts)
    found = np.flatnonzero(cotangent == np.repeat(best, sizes))
    return places[found[np.searchsorted(found, firsts)]]
