from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wsi.results.decimal_text import write_decimals
from wsi.results.text_rows import join_rows


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=20), st.integers(0, 4))
def test_texts_are_exact_and_shortest(numbers: list[int], places: int) -> None:
    texts = join_rows([write_decimals(np.array(numbers), places), b"\n"]).decode().split()
    expected = [Decimal(number).scaleb(-places).normalize() for number in numbers]
    assert [Decimal(text) for text in texts] == expected
    assert texts == [f"{value:f}" for value in expected]
