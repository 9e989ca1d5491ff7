"""Traces the outlines of all objects of a window at once.

A ring passes through the middles of the sides between an object's pixels and others, in half px: the middles of a
pixel (x, y) are (2x + 1, 2y), (2x + 2, 2y + 1), (2x + 1, 2y + 2) and (2x, 2y + 1). At the end of a side it turns to the
next one: of the same pixel, of the pixel ahead, or of the one ahead and outwards, if that is the object's. Where two
pixels of an object touch at a corner alone it stays on the pixel, as they share no side, so that rings never touch
themselves or each other; objects that share a side share the line between them. A convex corner lacks an eighth of a
px and a concave one adds it: a polygon is of `px - (1 - holes) / 2` px.

Outer rings have a positive area by the coordinates as they are (RFC 7946: counter-clockwise; as y points down,
clockwise to the eye), holes a negative one. Each ring begins with its topmost and then leftmost vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.table import Labels

#: Directions of a side as one walks with the object at the right hand (to the eye): a top side to the right, a right
#: side down, a bottom side to the left, a left side up.
_TOP, _RIGHT, _BOTTOM, _LEFT = range(4)
_MIDDLE_X = np.array([1, 2, 1, 0], np.int32)
_MIDDLE_Y = np.array([0, 1, 2, 1], np.int32)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Outlines:
    """The rings of objects 1..n: each one's outer ring, then its holes by their first vertices, row by row."""

    first_rings: NDArray[np.int32]  #: [n + 1]
    first_vertices: NDArray[np.int32]  #: [rings + 1]
    vertices: NDArray[np.int32]  #: [v, 2] x, y in half px


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Sides:
    """Sides between an object's pixel and another: one belongs to one ring, and has one next side."""

    labels: NDArray[np.int32]  #: [s] of the pixel
    directions: NDArray[np.uint8]  #: [s]
    xs: NDArray[np.int32]  #: [s] of the middle, in half px
    ys: NDArray[np.int32]
    nexts: NDArray[np.int32]  #: [s]
    moves: NDArray[np.uint8]  #: [s] the way to the next middle in eighths of a turn, 0 to the right, 2 down


def trace_outlines(labels: Labels, number: int, left: int = 0, top: int = 0) -> Outlines:
    """Return the outlines of objects 1..number of [height, width], whose first pixel is (left, top). The pixels of an
    object share sides."""
    sides = _find_sides(labels)
    starts, rings, places = _walk(sides)
    order = np.lexsort((sides.xs[starts], sides.ys[starts], sides.directions[starts] != _TOP, sides.labels[starts]))
    firsts = _add_up(np.bincount(rings, minlength=len(starts))[order])
    begins = np.empty(len(starts), np.int32)
    begins[order] = firsts[:-1]
    walked = np.empty(len(rings), np.int32)
    walked[begins[rings] + places] = np.arange(len(rings), dtype=np.int32)

    moves = sides.moves[walked]
    befores = np.empty_like(moves)
    befores[1:] = moves[:-1]
    befores[firsts[:-1]] = moves[firsts[1:] - 1]
    turns = moves != befores
    kept = walked[turns]
    counts = _add_up(turns)
    vertices = np.stack([sides.xs[kept] + np.int32(2 * left), sides.ys[kept] + np.int32(2 * top)], axis=1)
    return Outlines(
        first_rings=_add_up(np.bincount(sides.labels[starts], minlength=number + 1)[1:]),
        first_vertices=counts[firsts],
        vertices=vertices,
    )


def _find_sides(labels: Labels) -> _Sides:
    height, width = labels.shape
    framed = np.zeros((height + 2, width + 2), np.int32)
    framed[1:-1, 1:-1] = labels
    flat, across = framed.ravel(), width + 2
    upper = np.flatnonzero(flat[:-across] != flat[across:]).astype(np.int32)
    before = np.flatnonzero(flat[:-1] != flat[1:]).astype(np.int32)
    lower, after = upper + np.int32(across), before + np.int32(1)
    pixels = [pixels[flat[pixels] > 0] for pixels in (lower, before, upper, after)]
    numbers = np.empty((4, flat.size), np.int32)
    total = 0
    for row, some in zip(numbers, pixels, strict=True):
        row[some] = np.arange(total, total + len(some), dtype=np.int32)
        total += len(some)

    nexts, moves = np.empty(total, np.int32), np.empty(total, np.uint8)
    last = 0
    for direction, (some, ahead) in enumerate(zip(pixels, (1, across, -1, -across), strict=True)):
        outwards = (-across, 1, across, -1)[direction]
        here, label = slice(last, last + len(some)), flat[some]
        beside = some + np.int32(ahead)
        beyond = beside + np.int32(outwards)
        goes_on = flat[beside] == label
        turns_out = goes_on & (flat[beyond] == label)
        straight = goes_on & ~turns_out
        nexts[here] = numbers[(direction + 1) % 4][some]
        nexts[here][straight] = numbers[direction][beside[straight]]
        nexts[here][turns_out] = numbers[(direction + 3) % 4][beyond[turns_out]]
        moves[here] = (2 * direction + 1 - goes_on - turns_out.view(np.uint8)) % 8
        last += len(some)
    every = np.concatenate(pixels)
    directions = np.repeat(np.arange(4, dtype=np.uint8), [len(some) for some in pixels])
    ys, xs = np.divmod(every, np.int32(across))
    return _Sides(
        labels=flat[every],
        directions=directions,
        xs=2 * (xs - np.int32(1)) + _MIDDLE_X[directions],
        ys=2 * (ys - np.int32(1)) + _MIDDLE_Y[directions],
        nexts=nexts,
        moves=moves,
    )


def _walk(sides: _Sides) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the first side of each ring, and of each side its ring and its place in it.

    Every side looks ahead as far as it and the one that it sees together do, so that a ring of n sides takes the
    logarithm of n rounds, and all rings are walked at once.
    """
    total = len(sides.nexts)
    keys = sides.ys.astype(np.int64) * (int(sides.xs.max(initial=0)) + 1) + sides.xs
    least, seen = keys, sides.nexts
    while True:
        lower = np.minimum(least, least[seen])
        #: What no round lowers is the least of the ring: windows of equal length that begin everywhere agree.
        if np.array_equal(lower, least):
            break
        least, seen = lower, seen[seen]
    starts = np.flatnonzero(keys == least).astype(np.int32)

    #: The walk ends where the next side is the first one: at a place past all sides, one for each ring.
    ends = np.arange(total + len(starts), dtype=np.int32)
    ends[starts] = total + np.arange(len(starts), dtype=np.int32)
    seen = np.concatenate([ends[sides.nexts], ends[total:]])
    steps = np.zeros(len(seen), np.int32)
    steps[:total] = 1
    while (seen[:total] < total).any():
        steps += steps[seen]
        seen = seen[seen]
    rings = seen[:total] - np.int32(total)
    return starts, rings, steps[starts][rings] - steps[:total]


def _add_up(counts: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return 0 and the sums of the first 1, 2, ... counts."""
    sums = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=sums[1:])
    return sums
