from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.objects.drawing import draw_objects
from wsi.objects.measurements import (
    AREA,
    CIRCULARITY,
    LENGTH,
    MAX_DIAMETER,
    MIN_DIAMETER,
    SOLIDITY,
    compute_measurements,
    name_measurements,
)
from wsi.objects.rings import close_rings
from wsi.objects.table import ObjectTable, PixelLattice

LATTICES = [
    PixelLattice(step_x=2.0, step_y=2.0, mpp_x=0.25, mpp_y=0.25),
    PixelLattice(step_x=1.9, step_y=2.2, mpp_x=0.26, mpp_y=0.24),
]
DIAMOND = [(1, 0), (2, 1), (1, 2), (0, 1)]  #: one px


def table_of(*shapes: list[list[tuple[int, int]]]) -> ObjectTable:
    """Objects of these rings, the outer one first."""
    count = len(shapes)
    rings = [ring for shape in shapes for ring in shape]
    return ObjectTable(
        tiles=np.zeros(count, np.int32),
        points=np.zeros((count, 2), np.int32),
        areas=np.zeros(count, np.int32),
        centroids=np.zeros((count, 2)),
        classes=np.zeros(count, np.uint8),
        chances=np.full((count, 1), 0.5, np.float32),
        first_rings=np.cumsum([0, *map(len, shapes)], dtype=np.int32),
        first_vertices=np.cumsum([0, *map(len, rings)], dtype=np.int32),
        vertices=np.array([vertex for ring in rings for vertex in ring], np.int32),
    )


def polygons_of(table: ObjectTable, lattice: PixelLattice) -> list[shapely.Polygon]:
    """The objects in um."""
    unit = np.array([lattice.step_x * lattice.mpp_x, lattice.step_y * lattice.mpp_y]) / 2
    closed = close_rings(table)
    rings = np.split(table.vertices[closed.places] * unit, closed.first_places[1:-1])
    shapes = np.split(np.arange(len(rings)), table.first_rings[1:-1])
    return [shapely.Polygon(rings[shape[0]], [rings[hole] for hole in shape[1:]]) for shape in shapes]


def least_width(polygon: shapely.Polygon) -> float:
    corners = np.array(shapely.convex_hull(polygon).exterior.coords)
    along = np.diff(corners, axis=0)
    away = corners[None] - corners[:-1, None]
    heights = np.abs(along[:, None, 0] * away[..., 1] - along[:, None, 1] * away[..., 0]).max(axis=1)
    return float((heights / np.hypot(*along.T)).min())


def check(table: ObjectTable, lattice: PixelLattice) -> None:
    """Compare all shapes with those of GEOS, whose algorithms are those of QuPath's JTS."""
    found = compute_measurements(table, lattice, ("Nucleus",))
    polygons = polygons_of(table, lattice)
    outer = [shapely.Polygon(polygon.exterior) for polygon in polygons]
    expected = {
        AREA: shapely.area(polygons),
        LENGTH: shapely.length(polygons),
        CIRCULARITY: 4 * np.pi * shapely.area(outer) / shapely.length(outer) ** 2,
        SOLIDITY: shapely.area(polygons) / shapely.area(shapely.convex_hull(polygons)),
        MAX_DIAMETER: 2 * shapely.minimum_bounding_radius(polygons),
        MIN_DIAMETER: [least_width(polygon) for polygon in polygons],
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(np.array(values), rel=1e-9), name


@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("vertices", [5, 12, 40])
def test_measures_agree_with_geos_on_drawn_objects(vertices: int, lattice: PixelLattice) -> None:
    check(draw_objects(150, vertices=vertices, holes=vertices == 40), lattice)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-30, 30), st.integers(-30, 30)), min_size=3, max_size=30), min_size=1, max_size=8
    ),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_measures_agree_with_geos_on_rings_around_points(shapes: list[list[tuple[int, int]]], turned: bool) -> None:
    """Rings that go around their middle by angle, in both senses of rotation."""
    rings = []
    for points in shapes:
        middle = np.mean(points, axis=0)
        by_angle = {float(np.arctan2(y - middle[1], x - middle[0])): (x, y) for x, y in points}
        ring = [by_angle[angle] for angle in sorted(by_angle, reverse=turned)]
        if len(ring) >= 3 and shapely.Polygon(ring).is_valid and shapely.Polygon(ring).area > 0:
            rings.append([ring])
    if rings:
        check(table_of(*rings), LATTICES[0])


def test_a_px_has_the_area_of_the_diamond_within_it() -> None:
    found = compute_measurements(table_of([DIAMOND]), LATTICES[0], ("Nucleus",))
    assert found[AREA].tolist() == [0.5 * 0.5**2]  # a px of the lattice is 0.5 um wide
    assert found[MAX_DIAMETER] == pytest.approx([0.5])
    assert found[MIN_DIAMETER] == pytest.approx([0.5 / np.sqrt(2)])


def test_holes_take_from_the_area_and_add_to_the_length() -> None:
    outer = [(0, 0), (40, 0), (40, 40), (0, 40)]
    hole = [(x + 20, y + 20) for x, y in DIAMOND]
    whole, pierced = (
        {name: values[0] for name, values in compute_measurements(table_of(shape), LATTICES[0], ("a",)).items()}
        for shape in ([outer], [outer, hole])
    )
    assert pierced[AREA] == whole[AREA] - 0.125
    assert pierced[LENGTH] == pytest.approx(whole[LENGTH] + 4 * np.sqrt(2) * 0.25)
    assert pierced[CIRCULARITY] == whole[CIRCULARITY]
    assert pierced[SOLIDITY] < whole[SOLIDITY] == 1


def test_chances_have_the_names_of_classes_where_there_are_several() -> None:
    for classes in (("Nucleus",), ("Tumour", "Stroma")):
        table = draw_objects(3, classes=len(classes))
        found = compute_measurements(table, LATTICES[0], classes)
        assert tuple(found) == name_measurements(classes)
        assert np.array_equal(np.stack([*found.values()][6:], axis=1), table.chances)
    assert name_measurements(("Tumour", "Stroma"))[-2:] == ("Probability: Tumour", "Probability: Stroma")


def test_no_object_has_empty_columns() -> None:
    found = compute_measurements(ObjectTable.make_empty(3), LATTICES[0], ("a", "b"))
    assert tuple(found) == name_measurements(("a", "b"))
    assert {len(column) for column in found.values()} == {0}


def test_an_object_far_from_the_corner_is_measured_alike() -> None:
    near = draw_objects(20)
    far = draw_objects(20)
    far.vertices[:] += [10**8, 10**8]
    for name, values in compute_measurements(near, LATTICES[1], ("a",)).items():
        assert compute_measurements(far, LATTICES[1], ("a",))[name] == pytest.approx(values, rel=1e-12)
