"""The owner's reading of audit logs: one tenant's, or the installation's own. It reads them only to list and to verify
them, and changes none."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Final
from uuid import UUID

from adapters.postgres.audit import list_following_lines, list_lines
from adapters.postgres.connections import Connections, Cursor
from wsi.audit.chain import ChainFault, ChainReport, verify_chain
from wsi.errors import NotFound
from wsi.records.audit.lines import INSTALLATION, AuditFilter, AuditHead, AuditLine
from wsi.records.pages import Page

NO_HEADS: Final[Mapping[int, str]] = MappingProxyType({})
_PAGE: Final = 1000
_HEADS: Final = "SELECT number, encode(hash, 'hex') AS hash FROM audit_anchors WHERE chain = %s"
_UNLINKED: Final = """
    SELECT count(*) AS lines FROM audit_log
    WHERE tenant IS NOT DISTINCT FROM %s AND NOT EXISTS (SELECT FROM audit_links WHERE audit_links.seq = audit_log.seq)
"""


class OwnerAudit:
    """`tenant` is a name; None: the installation."""

    def __init__(self, owner_dsn: Callable[[], str]) -> None:
        self._owner_dsn = owner_dsn

    def list_lines(self, tenant: str | None, wanted: AuditFilter, *, cursor: int | None, limit: int) -> Page[AuditLine]:
        """Return a page of lines, newest first. Raises NotFound."""
        with self._reading() as transaction:
            return list_lines(transaction, _find_chain(transaction, tenant), wanted, before=cursor, limit=limit)

    def verify(self, tenant: str | None, heads: Mapping[int, str] = NO_HEADS) -> ChainReport:
        """Verify a chain against its heads in the database and those that were kept elsewhere, hashes by number. Raises
        NotFound."""
        with self._reading() as cursor:
            chain = _find_chain(cursor, tenant)
            anchors = [AuditHead(chain=chain, **row) for row in cursor.execute(_HEADS, (chain,)).fetchall()]
            known = [*anchors, *(AuditHead(chain=chain, number=number, hash=heads[number]) for number in heads)]
            report = verify_chain(_iterate_lines(cursor, chain), chain=chain, heads=known)
            row = cursor.execute(_UNLINKED, (None if chain == INSTALLATION else chain,)).fetchone()
            assert row is not None, "a count has a row"
            if row["lines"]:
                fault = ChainFault(0, f"{row['lines']} lines were written without a link of the chain.")
                report = replace(report, faults=(*report.faults, fault))
            return report

    @contextmanager
    def _reading(self) -> Generator[Cursor]:
        connections = Connections(self._owner_dsn())
        try:
            with connections.begin_transaction() as cursor:
                # Later lines would look as if they had no link yet.
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                cursor.execute("SELECT set_config('tessera.audits', 'on', true)")
                yield cursor
        finally:
            connections.close()


def _find_chain(cursor: Cursor, tenant: str | None) -> UUID:
    if tenant is None:
        return INSTALLATION
    row = cursor.execute("SELECT id FROM tenants WHERE name = %s", (tenant,)).fetchone()
    if row is None:
        raise NotFound("There is no tenant of this name; list_tenants lists all.")
    return row["id"]


def _iterate_lines(cursor: Cursor, chain: UUID) -> Iterator[AuditLine]:
    """Yield the lines of a chain, oldest first, without holding them all."""
    last = 0
    while True:
        page = list_following_lines(cursor, chain, after=last, limit=_PAGE)
        yield from page
        if not page:
            return
        last = page[-1].number
