from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tests.wsi.objects.drawing import draw_objects
from wsi.objects.blocks import group_tables, slice_table
from wsi.objects.table import ObjectTable


def same(one: ObjectTable, other: ObjectTable) -> bool:
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(ObjectTable))


@pytest.mark.parametrize("rows", [1, 4, 10, 23, 100])
@pytest.mark.parametrize("sizes", [[23], [0, 1, 0, 22], [10, 10, 3], [5] * 4 + [3]])
def test_rows_keep_their_order_and_only_the_last_table_is_short(sizes: list[int], rows: int) -> None:
    table = draw_objects(23, holes=True)
    ends = np.cumsum(sizes)
    parts = [slice_table(table, end - size, end) for size, end in zip(sizes, ends, strict=True)]
    found = list(group_tables(parts, rows))
    assert [len(each) for each in found] == [rows] * (23 // rows) + ([23 % rows] if 23 % rows else [])
    assert same(ObjectTable.join(found), table)


def test_a_slice_is_what_select_returns() -> None:
    table = draw_objects(9, holes=True, classes=2)
    assert same(slice_table(table, 2, 7), table.select(np.arange(2, 7)))
    assert len(slice_table(table, 4, 4)) == 0


def test_nothing_comes_of_nothing() -> None:
    assert list(group_tables([], 5)) == list(group_tables([ObjectTable.make_empty()], 5)) == []
