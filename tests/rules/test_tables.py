"""Every table that a person may open in a spreadsheet quotes the text of people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("wsi", "adapters", "lambdas", "inference", "gpu_worker", "cdk", "local", "tessera", "tools", "scripts")
WRITES = re.compile(r"\bcsv\.(writer|DictWriter)\(|\.(to_csv|write_csv)\(")
QUOTES = "from wsi.csv_text import quote_cells"
WRITERS = [
    path
    for folder in PRODUCT
    for path in sorted((ROOT / folder).rglob("*.py"))
    if WRITES.search(path.read_text(encoding="utf-8"))
]


def test_there_are_writers_of_tables() -> None:
    assert ROOT / "wsi/results/tables.py" in WRITERS


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_that_writes_a_table_quotes_its_text(path: Path) -> None:
    assert QUOTES in path.read_text(encoding="utf-8")
