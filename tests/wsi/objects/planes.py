"""Drawn maps of a whole slide, what windows of it give, and objects in a form to compare."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.objects.extracting import extract_objects
from wsi.objects.found import FoundObjects, Sight
from wsi.objects.joining import JoinedObjects, join_parts
from wsi.objects.part_table import PartTable
from wsi.objects.table import ObjectTable
from wsi.objects.window import Window, WindowGrid
from wsi.records.outputs import CoreRule, ObjectOutput

Maps = NDArray[np.uint8]
OUTPUT = ObjectOutput(
    classes=("round", "long"),
    rule=CoreRule(inside=128, core=140, least_core=3, reach=4),
    stride=4,
    margin=6,
    largest=20,
)


@dataclass(frozen=True)
class Row:
    """An object as values that compare as equal only if every number is."""

    point: tuple[int, int]
    area: int
    centroid: tuple[float, float]
    named: int
    chances: tuple[float, ...]
    rings: tuple[tuple[tuple[int, int], ...], ...]


def list_rows(table: ObjectTable) -> list[Row]:
    return [
        Row(
            point=tuple(table.points[row].tolist()),
            area=int(table.areas[row]),
            centroid=tuple(table.centroids[row].tolist()),
            named=int(table.classes[row]),
            chances=tuple(table.chances[row].tolist()),
            rings=tuple(list_rings(table, row)),
        )
        for row in range(len(table))
    ]


def list_rings(table: ObjectTable, row: int) -> Iterator[tuple[tuple[int, int], ...]]:
    for ring in range(table.first_rings[row], table.first_rings[row + 1]):
        some = table.vertices[table.first_vertices[ring] : table.first_vertices[ring + 1]]
        yield tuple((x, y) for x, y in some.tolist())


def make_grid(plane: Maps, kept_x: int, kept_y: int, output: ObjectOutput = OUTPUT) -> WindowGrid:
    return WindowGrid.of(output, kept_x=kept_x, kept_y=kept_y, slide_x=plane.shape[2], slide_y=plane.shape[1])


def cut_window(plane: Maps, window: Window, chance: np.random.Generator) -> Maps:
    """Return the maps of a window; where they cannot be trusted, and beyond the slide, they are noise."""
    box, trusted = window.box, window.trusted
    maps = chance.integers(0, 256, (len(plane), box.bottom - box.top, box.right - box.left), np.uint8)
    held = trusted.intersect(window.grid.slide)
    rows, columns = slice(held.top, held.bottom), slice(held.left, held.right)
    maps[:, held.top - box.top : held.bottom - box.top, held.left - box.left : held.right - box.left] = plane[
        :, rows, columns
    ]
    return maps


def run_windows(plane: Maps, grid: WindowGrid, output: ObjectOutput = OUTPUT, seed: int = 0) -> list[FoundObjects]:
    """Return what all windows give, in a random order."""
    columns, rows = -(-grid.slide_x // grid.kept_x), -(-grid.slide_y // grid.kept_y)
    places = [(column, row) for row in range(rows) for column in range(columns)]
    random.Random(seed).shuffle(places)
    chance = np.random.default_rng(seed)
    windows = [(grid.place_window(column, row), row * columns + column) for column, row in places]
    return [extract_objects(cut_window(plane, window, chance), window, output, tile) for window, tile in windows]


def select_sights(found: list[FoundObjects], *sights: Sight) -> ObjectTable:
    return ObjectTable.join([one.table.select(np.flatnonzero(np.isin(one.sights, sights))) for one in found])


def join_windows(found: list[FoundObjects], grid: WindowGrid) -> JoinedObjects:
    parts = PartTable.join([one.parts for one in found])
    return join_parts(select_sights(found, Sight.LARGE), select_sights(found, Sight.LONG), parts, grid)


def find_rows(plane: Maps, kept_x: int, kept_y: int, output: ObjectOutput = OUTPUT, seed: int = 0) -> list[Row]:
    """Return all objects of the slide by windows of one size, ordered by point."""
    grid = make_grid(plane, kept_x, kept_y, output)
    found = run_windows(plane, grid, output, seed)
    table = ObjectTable.join([select_sights(found, Sight.OWN, Sight.LONG), join_windows(found, grid).table])
    return sorted(list_rows(table), key=lambda row: (row.point[1], row.point[0]))


def draw_clumps(seed: int, width: int, height: int, maps: int = 4) -> Maps:
    """Return random clumps that touch, part and share reach; cores are specks, or wind through the whole slide."""
    chance = np.random.default_rng(seed)
    cell = int(chance.integers(3, 9))
    coarse = chance.random((height // cell + 1, width // cell + 1)) < chance.choice([0.15, 0.3, 0.6])
    plane = chance.integers(0, 256, (maps, height, width), np.uint8)
    fine = chance.random((height, width)) < 0.95
    plane[0] = np.where(np.kron(coarse, np.ones((cell, cell), np.bool_))[:height, :width] & fine, 200, 60)
    plane[1] = np.where(chance.random((height, width)) < chance.choice([0.4, 0.55, 0.7]), 200, 90)
    return plane
