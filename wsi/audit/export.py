"""The audit log as a file that anybody can verify: CSV for spreadsheets, or JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from wsi.audit.chain import format_canonically
from wsi.errors import Invalid
from wsi.records.audit.lines import AuditLine
from wsi.results.csv_text import quote_cells

COLUMNS: Final = ("number", "at", "actor", "actor_name", "action", "subject", "detail", "tenant", "hash")


def write_csv(lines: Iterable[AuditLine], names: Mapping[str, str]) -> str:
    """Return the lines as CSV with a header. `names` are of actors, for people; they are not part of the chain."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow(
            quote_cells(
                (
                    *(line.number, line.at.isoformat(), line.actor, names.get(line.actor, ""), line.action),
                    *(line.subject, format_canonically(line.detail), line.tenant and str(line.tenant), line.hash),
                )
            )
        )
    return text.getvalue()


def read_lines(text: str) -> list[AuditLine]:
    """Return the lines of a file, oldest first: our CSV, JSON lines, or an answer of `GET /audit`. Raises Invalid."""
    try:
        rows = _read_json(text) if text.lstrip().startswith("{") else _read_csv(text)
        lines = [read_line(row) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid(
            "This is no export of an audit log: give the CSV, JSON lines or an answer of GET /audit."
        ) from error
    return lines[::-1] if len(lines) > 1 and lines[0].number > lines[-1].number else lines


def read_line(row: Mapping[str, Any]) -> AuditLine:
    """Return the line of an item of `GET /audit`. Raises KeyError, TypeError and ValueError."""
    return AuditLine(
        number=int(row["number"]),
        tenant=UUID(row["tenant"]) if row["tenant"] else None,
        at=datetime.fromisoformat(row["at"]),
        actor=row["actor"],
        action=row["action"],
        subject=row["subject"],
        detail=row["detail"],
        hash=row["hash"],
    )


def _read_json(text: str) -> Iterable[Mapping[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return whole.get("items", [whole])


def _read_csv(text: str) -> Iterable[Mapping[str, Any]]:
    for row in csv.DictReader(io.StringIO(text)):
        plain = {name: _unquote(cell) for name, cell in row.items()}
        yield {**plain, "detail": json.loads(plain["detail"])}


def _unquote(cell: str) -> str:
    """Take away the apostrophe that `quote_cells` put before what looked like a formula."""
    return cell[1:] if cell.startswith("'") and quote_cells([cell[1:]]) == [cell] else cell
