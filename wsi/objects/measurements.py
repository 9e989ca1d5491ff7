"""The measurements of objects, under QuPath's names and by its definitions, so that they sort into the columns of its
own detectors (its ObjectMeasurements, at e7662d89)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wsi.objects.hulls import find_hulls, follow, measure_circles, measure_widths, sum_twice_areas
from wsi.objects.table import ObjectTable, PixelLattice

#: The sign for micro is U+00B5, as in QuPath.
AREA, LENGTH = "Area \u00b5m^2", "Length \u00b5m"
CIRCULARITY, SOLIDITY = "Circularity", "Solidity"
MAX_DIAMETER, MIN_DIAMETER = "Max diameter \u00b5m", "Min diameter \u00b5m"
SHAPES = (AREA, LENGTH, CIRCULARITY, SOLIDITY, MAX_DIAMETER, MIN_DIAMETER)
PROBABILITY = "Detection probability"


def name_measurements(classes: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all columns that objects of these classes have."""
    return (*SHAPES, *_name_chances(classes, 1 + (len(classes) if len(classes) > 1 else 0)))


def compute_measurements(
    table: ObjectTable, lattice: PixelLattice, classes: Sequence[str]
) -> dict[str, NDArray[np.floating]]:
    """Return the columns, [n] each, of polygons as they are written: through the middles of px' sides.

    Area: without holes; half a px less than the object's px, and half a px more for each hole. Length: of all rings,
    holes too. Circularity: 4 pi area / length^2 of the outer ring alone. Solidity: the area, without holes, over that
    of the convex hull. Max diameter: of the smallest circle around the polygon. Min diameter: the least width in any
    direction. Then chances: of an object, and of each class where the model has a map of it.
    """
    if not len(table):
        return {name: np.zeros(0) for name in name_measurements(classes)}
    unit = np.array([lattice.step_x * lattice.mpp_x, lattice.step_y * lattice.mpp_y]) / 2  # um of half a px
    square = float(unit.prod()) / 2  # of twice an area
    rings = sum_twice_areas(table.vertices, table.first_vertices)
    lengths = _measure_lengths(table, unit)
    outer = table.first_rings[:-1]
    outer_area, outer_length = rings[outer], lengths[outer]
    area = 2 * outer_area - np.add.reduceat(rings, outer)
    hulls = find_hulls(*_take_outer_rings(table))
    shapes: tuple[NDArray[np.floating], ...] = (
        area * square,
        np.add.reduceat(lengths, outer),
        4 * np.pi * outer_area * square / outer_length**2,
        area / sum_twice_areas(hulls.corners, hulls.firsts),
        measure_circles(hulls, unit),
        measure_widths(hulls, unit),
    )
    names = (*SHAPES, *_name_chances(classes, table.chances.shape[1]))
    return dict(zip(names, (*shapes, *table.chances.T), strict=True))


def _name_chances(classes: Sequence[str], columns: int) -> tuple[str, ...]:
    return (PROBABILITY, *(f"Probability: {name}" for name in classes if columns > 1))


def _measure_lengths(table: ObjectTable, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the length of each ring in um."""
    following = follow(table.first_vertices)
    squares = np.zeros(len(following))
    for axis, side in zip(table.vertices.T.astype(np.float64), unit, strict=True):
        squares += ((axis[following] - axis) * side) ** 2
    return np.add.reduceat(np.sqrt(squares), table.first_vertices[:-1])


def _take_outer_rings(table: ObjectTable) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the vertices of the outer rings alone, and where each ring begins among them."""
    if len(table.first_vertices) == len(table.first_rings):
        return table.vertices, table.first_vertices.astype(np.intp)
    sizes = np.diff(table.first_vertices)
    is_outer = np.zeros(len(sizes), np.bool_)
    is_outer[table.first_rings[:-1]] = True
    firsts = np.concatenate([[0], np.cumsum(sizes[is_outer])]).astype(np.intp)
    return table.vertices[np.repeat(is_outer, sizes)], firsts
