"""Transactions of the owner, in the name of whoever asked for what they do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Self
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from adapters.postgres.connections import CONNECT_SECONDS, Connections, translate_refusals
from wsi.errors import NotFound

OWNER = "owner"  #: the actor in the audit log, if nobody is named


class OwnerTransactions:
    """`owner_dsn` is called for each transaction, since the owner's password changes while a process lives. The audit
    log names `actor` for each change, and `request`, by which AWS knows the invocation."""

    def __init__(
        self,
        owner_dsn: Callable[[], str],
        *,
        actor: str = OWNER,
        request: str | None = None,
        must_be_operator: bool = False,
    ) -> None:
        self._owner_dsn = owner_dsn
        self._actor = actor
        self._request = request
        self._must_be_operator = must_be_operator

    def as_operator(self, actor: str, request: str | None) -> Self:
        """Return the same actions, in the name of whoever asked for them: IAM allowed it."""
        return type(self)(self._owner_dsn, actor=actor, request=request)

    def on_behalf_of(self, operator: str) -> Self:
        """Return the same actions for a person or key that says to be an operator. Each action begins by asking the
        database, and raises Forbidden if it knows no operator of this name now."""
        return type(self)(self._owner_dsn, actor=operator, must_be_operator=True)

    def _check_actor(self) -> None:
        """Raise Forbidden unless the actor may act; for what happens in a transaction of another kind."""
        if self._must_be_operator:
            with self._transaction():
                pass

    @contextmanager
    def _transaction(self) -> Generator[psycopg.Connection]:
        with (
            translate_refusals(),
            psycopg.connect(self._owner_dsn(), connect_timeout=CONNECT_SECONDS, prepare_threshold=None) as connection,
        ):
            if self._must_be_operator:
                connection.execute("SELECT tessera.check_operator(%s)", (self._actor,))
            yield connection

    @contextmanager
    def _connections(self) -> Generator[Connections]:
        self._check_actor()
        connections = Connections(self._owner_dsn())
        try:
            yield connections
        finally:
            connections.close()

    def _audit(
        self,
        connection: psycopg.Connection,
        tenant: UUID | None,
        action: str,
        subject: str,
        detail: dict[str, Any] | None = None,
    ) -> None:
        """Add a line to the tenant's audit log; None: to the installation's own. It is never erased, so it names
        people, keys and tenants by their ids alone."""
        known = {"request": self._request} if self._request is not None else {}
        connection.execute(
            "INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES (%s, %s, %s, %s, %s)",
            (tenant, self._actor, action, subject, Jsonb({**(detail or {}), **known})),
        )


def lock_tenant(connection: psycopg.Connection, name: str) -> UUID:
    """Return a tenant's id. The lock makes two callers that change one tenant take turns. Raises NotFound."""
    row = connection.execute("SELECT id FROM tenants WHERE name = %s FOR UPDATE", (name,)).fetchone()
    if row is None:
        raise NotFound("There is no tenant of this name; add_tenant makes it, list_tenants lists all.")
    return row[0]
