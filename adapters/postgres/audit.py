"""The audit log: its lines, which the database links to a chain, and the names of people and keys in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres.connections import Cursor, Row, Transactions
from wsi.records.audit.lines import VIEW_SECONDS, AuditFilter, AuditHead, AuditLine
from wsi.records.identity import Actor, Role
from wsi.records.pages import Page

SYSTEM: Final = "system"  #: the actor of lines of workers and of the sweep

#: By the chain's own numbers, which are given in the order of commits: a page never misses a line that commits late.
_LINKED = """
    SELECT audit_links.number, audit_log.*, encode(audit_links.hash, 'hex') AS hash
    FROM audit_links JOIN audit_log USING (seq) WHERE audit_links.chain = %(chain)s
"""
_NEWEST = f"""{_LINKED} AND (%(before)s::bigint IS NULL OR audit_links.number < %(before)s)
        AND (%(actor)s::text IS NULL OR audit_log.actor = %(actor)s)
        AND (%(action)s::text IS NULL OR audit_log.action = %(action)s)
        AND (%(subject)s::text IS NULL OR audit_log.subject = %(subject)s)
        AND (%(since)s::timestamptz IS NULL OR audit_log.at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR audit_log.at < %(until)s)
    ORDER BY audit_links.number DESC LIMIT %(rows)s
"""
_FOLLOWING = f"{_LINKED} AND audit_links.number > %(after)s ORDER BY audit_links.number LIMIT %(rows)s"


class PostgresAudit(Transactions):
    """The API's lines in the audit log, and the names of their actors."""

    def list_names(self, actor: Actor, subjects: Collection[str]) -> Mapping[str, str]:
        with self._transaction(actor.tenant) as cursor:
            found = cursor.execute("SELECT * FROM tessera.names_of(%s)", (list(subjects),))
            return {row["subject"]: row["name"] for row in found}

    def audit(self, actor: Actor, action: str, subject: str, detail: Mapping[str, Any] | None = None) -> None:
        with self._transaction(actor.tenant) as cursor:
            note(cursor, actor, action, subject, detail)

    def audit_view(self, actor: Actor, action: str, subject: str) -> float:
        with self._transaction() as cursor:
            return note_once(cursor, actor, action, subject, mark=subject, seconds=VIEW_SECONDS)

    def list_audit(self, actor: Actor, wanted: AuditFilter, *, cursor: int | None, limit: int) -> Page[AuditLine]:
        with self._transaction(actor.tenant) as transaction:
            return list_lines(transaction, actor.tenant, wanted, before=cursor, limit=limit)


class PostgresAuditUpkeep(Transactions):
    """The sweep's operation on the audit log."""

    def keep_audit(self, *, anchor_seconds: float) -> tuple[AuditHead, ...]:
        with self._transaction() as cursor:
            return tuple(
                AuditHead(chain=row["chain"], number=row["number"], hash=row["hash"].hex())
                for row in cursor.execute("SELECT * FROM tessera.keep_audit(%s)", (anchor_seconds,))
            )


def note(
    cursor: Cursor, actor: Actor, action: str, subject: str | UUID, detail: Mapping[str, Any] | None = None
) -> None:
    """Add a line to the audit log, in the transaction of what it tells of."""
    cursor.execute(
        "INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES (%s, %s, %s, %s, %s)",
        (actor.tenant, actor.subject, action, str(subject), Jsonb(dict(detail or {}))),
    )


def note_of_system(cursor: Cursor, tenant: UUID, action: str, subject: str, detail: Mapping[str, Any]) -> None:
    """Add a line of what no person did: a worker, or the sweep."""
    note(cursor, Actor(tenant=tenant, subject=SYSTEM, role=Role.VIEWER), action, subject, detail)


def note_once(
    cursor: Cursor,
    actor: Actor,
    action: str,
    subject: str,
    *,
    mark: str,
    seconds: float,
    detail: Mapping[str, Any] | None = None,
) -> float:
    """Add a line, unless the actor has one of this action and mark from the last `seconds`. Return for how many seconds
    there will be no other."""
    row = cursor.execute(
        "SELECT tessera.note_once(%s, %s, %s, %s, %s, %s, %s) AS seconds",
        (actor.tenant, actor.subject, action, subject, Jsonb(dict(detail or {})), mark, seconds),
    ).fetchone()
    assert row is not None, "a function has a result"
    return row["seconds"]


def list_lines(cursor: Cursor, chain: UUID, wanted: AuditFilter, *, before: int | None, limit: int) -> Page[AuditLine]:
    """Return one page of a chain, newest first."""
    found = cursor.execute(
        _NEWEST,
        {
            "chain": chain,
            "before": before,
            "actor": wanted.actor,
            "action": wanted.action,
            "subject": wanted.subject,
            "since": wanted.since,
            "until": wanted.until,
            "rows": limit + 1,
        },
    ).fetchall()
    items = tuple(map(_read_line, found[:limit]))
    return Page(items, str(items[-1].number) if len(found) > limit else None)


def list_following_lines(cursor: Cursor, chain: UUID, *, after: int, limit: int) -> tuple[AuditLine, ...]:
    """Return the lines of a chain behind the number `after`, oldest first."""
    return tuple(map(_read_line, cursor.execute(_FOLLOWING, {"chain": chain, "after": after, "rows": limit})))


def _read_line(row: Row) -> AuditLine:
    return AuditLine(
        number=row["number"],
        tenant=row["tenant"],
        at=row["at"],
        actor=row["actor"],
        action=row["action"],
        subject=row["subject"],
        detail=row["detail"],
        hash=row["hash"],
    )
