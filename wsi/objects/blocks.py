"""Tables of objects cut into others, so that files do not depend on how many objects came at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wsi.objects.table import ObjectTable


def group_tables(tables: Iterable[ObjectTable], rows: int) -> Iterator[ObjectTable]:
    """Yield the objects of all tables in their order, `rows` at a time, and the rest at the end."""
    waiting: list[ObjectTable] = []
    count = 0
    for table in tables:
        start = 0
        while len(table) - start >= rows - count:
            end = start + rows - count
            yield ObjectTable.join([*waiting, slice_table(table, start, end)])
            waiting, count, start = [], 0, end
        if start < len(table):
            waiting.append(slice_table(table, start, len(table)))
            count += len(table) - start
    if waiting:
        yield ObjectTable.join(waiting)


def slice_table(table: ObjectTable, start: int, end: int) -> ObjectTable:
    """Return the rows from `start` to `end`, which share their memory with the table."""
    rows = slice(start, end)
    first_rings = table.first_rings[start : end + 1]
    first_vertices = table.first_vertices[first_rings[0] : first_rings[-1] + 1]
    return ObjectTable(
        tiles=table.tiles[rows],
        points=table.points[rows],
        areas=table.areas[rows],
        centroids=table.centroids[rows],
        classes=table.classes[rows],
        chances=table.chances[rows],
        first_rings=first_rings - first_rings[0],
        first_vertices=first_vertices - first_vertices[0],
        vertices=table.vertices[first_vertices[0] : first_vertices[-1]],
    )
