"""The audit log, and the names of people and keys in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from adapters.postgres.connections import Cursor, Transactions
from wsi.records.identity import Actor


class PostgresAudit(Transactions):
    """The API's lines in the audit log, and the names of their actors."""

    def list_names(self, actor: Actor, subjects: Collection[str]) -> Mapping[str, str]:
        with self._transaction(actor.tenant) as cursor:
            found = cursor.execute("SELECT * FROM tessera.names_of(%s)", (list(subjects),))
            return {row["subject"]: row["name"] for row in found}

    def audit(self, actor: Actor, action: str, subject: str, detail: Mapping[str, Any] | None = None) -> None:
        with self._transaction(actor.tenant) as cursor:
            note(cursor, actor, action, subject, detail)


def note(
    cursor: Cursor, actor: Actor, action: str, subject: str | UUID, detail: Mapping[str, Any] | None = None
) -> None:
    """Add a line to the audit log, in the transaction of what it tells of."""
    cursor.execute(
        "INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES (%s, %s, %s, %s, %s)",
        (actor.tenant, actor.subject, action, str(subject), Jsonb(dict(detail or {}))),
    )
