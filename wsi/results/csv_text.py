"""Text from people in tables that spreadsheets open (OWASP, CSV injection)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

#: What a spreadsheet takes for a formula, also in the wide forms of East Asian keyboards, or skips before one.
_BEGINS_FORMULA: Final = re.compile("[=+\\-@\uff1d\uff0b\uff0d\uff20\t\n]")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def quote_cells(cells: Iterable[object]) -> list[object]:
    """Return the cells of a row with an apostrophe before each text that a spreadsheet would take for a formula.
    Numbers stay as they are, written out too.

    Line ends become "\\n": `csv.writer` does not quote a "\\r", behind which a row, and a formula, would begin."""
    return [_quote(cell) if isinstance(cell, str) else cell for cell in cells]


def _quote(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _BEGINS_FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
