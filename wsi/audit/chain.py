"""Verification of the audit log's chain of hashes. Pure: it needs the lines, and neither the database nor its owner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from typing import Any
from uuid import UUID

from wsi.records.audit.lines import AuditHead, AuditLine

_KEPT_FAULTS = 100  #: a chain that is broken early is broken in every line after it


@dataclass(frozen=True, slots=True)
class ChainFault:
    number: int  #: of the line at which it shows
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainReport:
    lines: int
    head: AuditHead | None  #: None without lines
    faults: tuple[ChainFault, ...]  #: the first 100

    @property
    def is_whole(self) -> bool:
        return not self.faults


def verify_chain(
    lines: Iterable[AuditLine], *, chain: UUID, heads: Iterable[AuditHead] = (), after: AuditHead | None = None
) -> ChainReport:
    """Check the lines of one chain, from the oldest to the newest.

    `heads` were kept elsewhere at earlier times; without one, nobody can tell that the last lines were cut or that
    all hashes were computed anew. `after` is the head that the first line follows, if lines before it are left out.
    """
    kept = {head.number: head.hash for head in heads if head.chain == chain}
    faults: list[ChainFault] = []
    number, previous, count = (after.number, after.hash, 0) if after else (0, "", 0)
    for line in lines:
        count += 1
        faults.extend(_find_faults(line, chain, number, previous, kept))
        number, previous = max(line.number, number), line.hash
    faults.extend(
        ChainFault(wanted, f"Line {wanted} was there once, and the log ends at line {number}.")
        for wanted in sorted(kept)
        if wanted > number
    )
    head = AuditHead(chain=chain, number=number, hash=previous) if count else after
    return ChainReport(lines=count, head=head, faults=tuple(faults[:_KEPT_FAULTS]))


def _find_faults(
    line: AuditLine, chain: UUID, number: int, previous: str, kept: Mapping[int, str]
) -> Iterable[ChainFault]:
    if (line.tenant or UUID(int=0)) != chain:
        yield ChainFault(line.number, f"Line {line.number} belongs to another chain.")
    if line.number > number + 1:
        yield ChainFault(line.number, f"Lines {number + 1} to {line.number - 1} are missing.")
    elif line.number <= number:
        yield ChainFault(line.number, f"Line {line.number} is out of order, behind line {number}.")
    if line.hash != compute_line_hash(line, previous):
        yield ChainFault(line.number, f"Line {line.number} or the line before it was changed.")
    if kept.get(line.number, line.hash) != line.hash:
        yield ChainFault(line.number, f"Line {line.number} had another hash when its head was kept.")


def compute_line_hash(line: AuditLine, previous: str) -> str:
    """Return the hex hash of the line behind the line with the hash `previous`, which is empty for the first."""
    at = line.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    tenant = str(line.tenant) if line.tenant is not None else None
    content = [line.number, tenant, at, line.actor, line.action, line.subject, line.detail]
    return hashlib.sha256(bytes.fromhex(previous) + format_canonically(content).encode()).hexdigest()


def format_canonically(value: Any) -> str:
    """Return JSON as Postgres writes a jsonb: keys by length and bytes, and numbers without an exponent."""
    match value:
        case Mapping():
            items: list[tuple[str, Any]] = sorted(value.items(), key=lambda item: _order_key(str(item[0])))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownLambdaType]
            return "{" + ", ".join(f"{_quote(key)}: {format_canonically(item)}" for key, item in items) + "}"
        case list() | tuple():
            return "[" + ", ".join(format_canonically(item) for item in value) + "]"  # pyright: ignore[reportUnknownVariableType]
        case str():
            return _quote(value)
        case float():
            return format(Decimal(repr(value)) if value else Decimal("0.0"), "f")
        case _:
            return json.dumps(value)


def _order_key(key: str) -> tuple[int, bytes]:
    encoded = key.encode()
    return len(encoded), encoded


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
