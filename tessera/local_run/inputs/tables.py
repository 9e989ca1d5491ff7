"""Tables of text as spreadsheets save them: in UTF-8, UTF-16 or the code page of Windows; with commas, semicolons or
tabs."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tessera.local_run.inputs.slide_input import UsageError

MAX_BYTES = 64 * 1024**2  #: a manifest of 300,000 slides has 30 MB
_DELIMITERS = ",;\t"
_SHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  #: .xlsx and .ods; .xls
_STATED = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  #: the first line as Excel reads and writes it
#: csv's own messages, by their beginnings, in words that tell what to do
_FAULTS = (
    ("unexpected end of data", "a quote is opened and never closed"),
    ("field larger than", f"a cell has more than {csv.field_size_limit():,} characters: is a quote missing?"),
    ("'", "text follows a closing quote; a quote in a cell is written twice"),
)


def read_rows(path: Path, column: str, example: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield (line, cells by column) of each row that is not empty. Names of columns are in lower case, with "_" for
    spaces and hyphens; cells have no spaces around them. `column` is one that must be there, `example` a first line
    that holds it. Raises UsageError."""
    text = _read_text(path)
    stated = _STATED.match(text)
    text = text[stated.end() :] if stated else text
    # Strict: a quote that is never closed would swallow the rows behind it. Lines end where CSV says, and not at the
    # separators that str.splitlines knows and file names may hold.
    delimiter = stated[1] if stated else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    skipped = 1 if stated else 0
    names: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _columns(cells, path, column, example)
            else:
                row = dict(zip(names, (cell.strip() for cell in cells), strict=False))
                yield reader.line_num + skipped, {name: row.get(name, "") for name in names}
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num + skipped}: {_fault(error)}") from None
    if names is None:
        raise UsageError(f"{path} is empty; its first line must be: {example}")


def _columns(cells: list[str], path: Path, column: str, example: str) -> list[str]:
    names = [re.sub(r"[\s_-]+", "_", cell.strip().casefold()) for cell in cells]
    if column not in names:
        raise UsageError(f"{path} has no column named {column}; its first line must be: {example}")
    twice = [name for name, count in Counter(filter(None, names)).items() if count > 1]
    if twice:
        raise UsageError(f"{path} has two columns named {twice[0]}; remove one of them")
    return names


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES // 1024**2} MB; split it")
    if data.startswith(_SHEETS):
        raise UsageError(f"{path} is a spreadsheet; open it and save it as CSV")
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("cp1252")  # Windows in Western Europe and America
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text that can be read; save it as CSV in UTF-8") from None


def _delimiter(text: str) -> str:
    """Return the one that the first line holds most of."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=first.count)


def _fault(error: csv.Error) -> str:
    said = str(error)
    return next((ours for begin, ours in _FAULTS if said.startswith(begin)), "the line is no row of a CSV")
