"""Transactions of somebody who administers: what exists in them is what this actor administers now."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from wsi.errors import NotFound
from wsi.records.identity import Actor


class ActingTransactions(Transactions):
    @contextmanager
    def _acting(self, actor: Actor) -> Generator[Cursor]:
        """Yield the cursor of a transaction of this actor. Raises Forbidden unless the actor administers a tenant;
        nobody of a suspended tenant does."""
        with self._transaction(actor.tenant) as cursor:
            cursor.execute("SELECT tessera.act(%s)", (actor.subject,))
            yield cursor


def begin_change(cursor: Cursor, tenant: UUID) -> None:
    """Wait for other changes to the tenant, and enter it. Raises Forbidden unless the actor administers it then."""
    cursor.execute("SELECT tessera.administer(%s)", (tenant,))


def note_change(
    cursor: Cursor,
    actor: Actor,
    tenant: UUID,
    action: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add a line to the audit log of the tenant that was changed, which can be another than the actor's."""
    note(cursor, replace(actor, tenant=tenant), action, subject, detail)


def find_tenant_of(cursor: Cursor, query: str, id: UUID, sentence: str) -> UUID:
    """Return the tenant of a row that the actor administers. Raises NotFound with the sentence, and Forbidden for an
    actor who ceased to administer anything in this moment."""
    row = cursor.execute(query.encode(), (id,)).fetchone()
    if row is None:
        cursor.execute("SELECT tessera.act(current_setting('tessera.actor'))")
        raise NotFound(sentence)
    return row["tenant"]
