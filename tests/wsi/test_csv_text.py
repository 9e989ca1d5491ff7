"""No text of people is a formula in a table, and every number stays one; whoever writes a table sees to it."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.results.csv_text import quote_cells

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("wsi", "adapters", "lambdas", "inference", "gpu_worker", "cdk", "local", "tessera", "tools", "scripts")
WRITES = re.compile(r"\bcsv\.(writer|DictWriter)\(|\.(to_csv|write_csv)\(")
QUOTES = "from wsi.results.csv_text import quote_cells"
WRITERS = [
    path
    for folder in PRODUCT
    for path in sorted((ROOT / folder).rglob("*.py"))
    if WRITES.search(path.read_text(encoding="utf-8"))
]
FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\n=1", "＝1", "＠x", "-", "+-1")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text: str) -> None:
    assert quote_cells([text]) == [f"'{text}"]


def test_no_row_begins_inside_of_a_text() -> None:
    assert quote_cells(["a\r=1", "\r=1", "a\r\nb"]) == ["a\n=1", "'\n=1", "a\nb"]


@pytest.mark.parametrize("text", ["", "prob_Tumor", "a=b", "'=1", "1-2", "Tumour, necrotic", "ä"])
def test_other_text_stays(text: str) -> None:
    assert quote_cells([text]) == [text]


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_stay_numbers(number: float) -> None:
    assert quote_cells([number, repr(number)]) == [number, repr(number)]


@given(st.lists(st.text(), min_size=1))
def test_a_reader_gets_the_text_and_a_spreadsheet_no_formula(cells: list[str]) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(quote_cells(cells))
    [row] = csv.reader(io.StringIO(file.getvalue(), newline=""), strict=True)
    for read, given_text in zip(row, cells, strict=True):
        expected = given_text.replace("\r\n", "\n").replace("\r", "\n")
        assert read in (expected, f"'{expected}")
        if read[:1] in tuple("=+-@\t\n"):
            assert math.isfinite(float(read))


def test_there_are_writers_of_tables() -> None:
    assert ROOT / "wsi/results/tables.py" in WRITERS


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_that_writes_a_table_quotes_its_text(path: Path) -> None:
    assert QUOTES in path.read_text(encoding="utf-8")
