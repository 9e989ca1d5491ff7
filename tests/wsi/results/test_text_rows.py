"""Rows of text as arrays of bytes: the same text that Python would write row by row."""

from __future__ import annotations

import uuid

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wsi.results.text_rows import combine_texts, join_rows, write_floats, write_integers
from wsi.results.tile_ids import TileIds

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), FLOATS), min_size=1, max_size=20))
def test_rows_are_those_that_python_writes(pairs: list[tuple[int, float]]) -> None:
    numbers = np.array([number for number, _ in pairs], np.int32)
    values = np.array([[value] for _, value in pairs], np.float32)
    written = join_rows([b"<", write_integers(numbers), *combine_texts(b";", write_floats(values)), b">\n"])
    expected = "".join(f"<{number};{np.float32(value) + np.float32(0)!s}>\n" for number, value in pairs)
    assert written == expected.encode()


@given(arrays(np.float32, (7, 3), elements=FLOATS))
def test_floats_read_back_as_the_same_value_column_by_column(values: np.ndarray) -> None:
    read = np.stack([column.astype(np.float32) for column in write_floats(values)], axis=1)
    assert (read == values).all()


def test_zero_has_one_text() -> None:
    (texts,) = write_floats(np.array([[0.0], [-0.0]], np.float32))
    assert texts.tolist() == [b"0.0", b"0.0"]


@given(st.text("0123456789abcdef", min_size=1), st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5))
def test_ids_of_tiles_are_name_based_uuids(digest: str, numbers: list[int]) -> None:
    tiles = uuid.uuid5(uuid.NAMESPACE_DNS, "tiles.tessera.invalid")
    expected = [str(uuid.uuid5(uuid.uuid5(tiles, digest), str(number))).encode() for number in numbers]
    assert TileIds(digest).write(numbers).tolist() == expected
