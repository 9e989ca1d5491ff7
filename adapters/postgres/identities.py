"""The owners of tokens and keys, as far as the authorizer may know them: SQL answers, the tables stay closed to it."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.audit import note, note_once
from adapters.postgres.connections import Connections
from wsi.ports.audit import Refusal
from wsi.records.identity import Actor, Membership

#: A session has one line for as long as it lives; a key, which has no session, one each day.
_SESSION_SECONDS: Final = 30 * 86_400.0
_DAY: Final = 86_400.0


class PostgresIdentities:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        with self._connections.begin_transaction() as cursor:
            found = cursor.execute("SELECT * FROM tessera.identify_user(%s, %s)", (issuer, subject))
            return rows.read_actor(found.fetchone())

    def admit_member(self, issuer: str, subject: str, membership: Membership) -> Actor | None:
        said = (issuer, subject, membership.tenant, membership.role, membership.email, membership.issued_at)
        with self._connections.begin_transaction() as cursor:
            found = cursor.execute("SELECT * FROM tessera.admit_member(%s, %s, %s, %s, %s, %s)", said)
            return rows.read_actor(found.fetchone())

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        with self._connections.begin_transaction() as cursor:
            found = cursor.execute("SELECT * FROM tessera.identify_api_key(%s, %s)", (prefix, secret_sha256))
            return rows.read_actor(found.fetchone())

    def note_session(self, actor: Actor, session: str) -> None:
        is_key = actor.subject.startswith("key:")
        seconds = _DAY if is_key else _SESSION_SECONDS
        detail = {"by": "key" if is_key else "token"}
        with self._connections.begin_transaction() as cursor:
            note_once(cursor, actor, "session.begin", actor.subject, mark=session, seconds=seconds, detail=detail)

    def note_refusal(
        self, reason: Refusal, *, issuer: str | None = None, subject: str | None = None, prefix: str | None = None
    ) -> None:
        with self._connections.begin_transaction() as cursor:
            cursor.execute("SELECT tessera.note_refusal(%s, %s, %s, %s)", (reason.value, issuer, subject, prefix))

    def accept_invitation(self, issuer: str, subject: str, email: str | None) -> Actor | None:
        with self._connections.begin_transaction() as cursor:
            row = cursor.execute(
                "SELECT * FROM tessera.accept_invitation(%s, %s, %s)", (issuer, subject, email)
            ).fetchone()
            actor = rows.read_actor(row)
            if actor is not None and row is not None and row["is_new"]:
                cursor.execute("SELECT tessera.enter(%s)", (actor.tenant,))
                note(cursor, actor, "invitation.accept", actor.subject, {"role": actor.role})
            return actor

    def is_suspended(self, tenant: UUID) -> bool:
        with self._connections.begin_transaction() as cursor:
            row = cursor.execute("SELECT tessera.is_suspended(%s) AS is_suspended", (tenant,)).fetchone()
            assert row is not None, "the function returns a value"
            return row["is_suspended"]
