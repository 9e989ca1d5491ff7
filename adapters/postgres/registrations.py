"""Model packages until they become model versions."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from psycopg import errors, sql
from psycopg.types.json import Jsonb

from adapters.postgres import models, rows
from adapters.postgres.audit import note, note_of_system
from adapters.postgres.connections import Cursor, Transactions
from wsi.errors import FailReason
from wsi.models.registration_rules import (
    QUEUE,
    SILENT,
    SILENT_TRIES,
    UNFINISHED,
    UNTRIED,
    make_trial_message,
    make_unknown_registration_error,
    make_version_taken_error,
    mark_default,
    stays,
)
from wsi.records.identity import Actor
from wsi.records.models import ModelVersion
from wsi.records.registrations import ModelMeasurements, NewRegistration, Registration
from wsi.states import REGISTRATION_MOVES, RegistrationState, select_sources
from wsi.tracing import make_traceparent


class PostgresTenantRegistrations(Transactions):
    """The API's operations on model packages."""

    def get_registration(self, actor: Actor, name: str, version: str) -> Registration:
        with self._transaction(actor.tenant) as cursor:
            found = _lock_registration(cursor, name, version)
            if found is None:
                raise make_unknown_registration_error()
            return found

    def open_registration(self, actor: Actor, wanted: NewRegistration) -> tuple[Registration, Registration | None]:
        with self._transaction(actor.tenant) as cursor:
            known = _lock_registration(cursor, wanted.name, wanted.version)
            if known is not None and stays(known, wanted):
                return known, None
            if known is None:
                models.check_addable(cursor, wanted.name, wanted.version)
            values = {
                "id": wanted.id,
                "tenant": actor.tenant,
                "name": wanted.name,
                "version": wanted.version,
                "files": Jsonb([asdict(file) for file in wanted.files]),
                "becomes_default": wanted.becomes_default,
                "created_by": actor.subject,
            }
            try:
                row = cursor.execute(_INSERT if known is None else _REPLACE, values).fetchone()
            except errors.UniqueViolation as error:  # added a moment ago
                raise make_version_taken_error() from error
            assert row is not None, "the row is locked, or was just added"
            note(cursor, actor, "model.add", f"{wanted.name}@{wanted.version}")
            return rows.read_registration(row), known

    def complete_registration(self, actor: Actor, registration_id: UUID) -> Registration | None:
        with self._transaction(actor.tenant) as cursor:
            moved = _move(cursor, registration_id, RegistrationState.CHECKING)
            if moved is None:
                row = cursor.execute("SELECT * FROM model_registrations WHERE id = %s", (registration_id,)).fetchone()
                return rows.read_registration(row) if row else None
            ask_for_trial(cursor, moved)
            note(cursor, actor, "model.complete", f"{moved.name}@{moved.version}")
            return moved


class PostgresTrials(Transactions):
    """The workers' operations on model packages."""

    def find_registration_to_try(self, registration_id: UUID) -> Registration | None:
        with self._transaction() as cursor:
            query = "SELECT * FROM model_registrations WHERE id = %s AND state = 'CHECKING'"
            row = cursor.execute(query, (registration_id,)).fetchone()
            return rows.read_registration(row) if row else None

    def begin_trial(self, registration_id: UUID) -> bool:
        with self._transaction() as cursor:
            row = cursor.execute(
                "UPDATE model_registrations SET tries = tries + 1 WHERE id = %s AND state = 'CHECKING' RETURNING tries",
                (registration_id,),
            ).fetchone()
            if row is None:
                return False
            if row["tries"] > SILENT_TRIES:
                reject(cursor, registration_id, RegistrationState.CHECKING, *SILENT)
                return False
            return True

    def accept_model(self, registration_id: UUID, model: ModelVersion, measured: ModelMeasurements) -> bool:
        with self._transaction() as cursor:
            moved = _move(cursor, registration_id, RegistrationState.READY, measured=Jsonb(measured.as_json()))
            if moved is None:
                return False
            others = models.lock_name(cursor, moved.tenant, model.name)
            owned = replace(model, owner=moved.tenant)
            added = mark_default(owned, asked=moved.becomes_default, others=others)
            models.add(cursor, added)
            detail = {"digest": added.digest, "default": added.is_default}
            note_of_system(cursor, moved.tenant, "model.accept", f"{moved.name}@{moved.version}", detail)
            return True

    def reject_model(self, registration_id: UUID, reason: FailReason, sentence: str) -> bool:
        with self._transaction() as cursor:
            source = RegistrationState.CHECKING
            return reject(cursor, registration_id, source, reason, sentence)


_INSERT = """
    INSERT INTO model_registrations (id, tenant, name, version, state, files, becomes_default, created_by)
    VALUES (%(id)s, %(tenant)s, %(name)s, %(version)s, 'UPLOADING', %(files)s, %(becomes_default)s, %(created_by)s)
    RETURNING *
"""
_REPLACE = """
    UPDATE model_registrations SET id = %(id)s, state = 'UPLOADING', files = %(files)s, tries = 0,
        becomes_default = %(becomes_default)s, created_by = %(created_by)s, reason = NULL, sentence = NULL,
        measured = NULL, created_at = now(), updated_at = now()
    WHERE name = %(name)s AND version = %(version)s
    RETURNING *
"""


def resend(cursor: Cursor, *, stuck_seconds: float) -> int:
    """Resend the message of packages that have waited `stuck_seconds` for a worker; return their number."""
    stuck = cursor.execute(
        """
        SELECT * FROM model_registrations
        WHERE state = 'CHECKING' AND woken_at < now() - make_interval(secs => %s) ORDER BY id FOR UPDATE
        """,
        (stuck_seconds,),
    ).fetchall()
    for row in stuck:
        ask_for_trial(cursor, rows.read_registration(row))
    return len(stuck)


def give_up(cursor: Cursor, *, seconds: float) -> int:
    """Reject packages that no worker has tried for `seconds`; return their number."""
    return _reject_unmoved(cursor, RegistrationState.CHECKING, seconds, *UNTRIED)


def abandon(cursor: Cursor, *, days: float) -> int:
    """Reject packages whose upload was not finished within `days`; return their number."""
    return _reject_unmoved(cursor, RegistrationState.UPLOADING, days * 86_400, *UNFINISHED)


def _reject_unmoved(cursor: Cursor, state: RegistrationState, seconds: float, reason: FailReason, sentence: str) -> int:
    old = cursor.execute(
        """
        SELECT id FROM model_registrations
        WHERE state = %s AND updated_at < now() - make_interval(secs => %s) ORDER BY id
        """,
        (state.value, seconds),
    ).fetchall()
    return sum(reject(cursor, row["id"], state, reason, sentence) for row in old)


def _lock_registration(cursor: Cursor, name: str, version: str) -> Registration | None:
    row = cursor.execute(
        "SELECT * FROM model_registrations WHERE name = %s AND version = %s FOR UPDATE", (name, version)
    ).fetchone()
    return rows.read_registration(row) if row else None


def reject(cursor: Cursor, registration_id: UUID, source: RegistrationState, reason: FailReason, sentence: str) -> bool:
    """Reject a package that is in the state `source`. Return False if another process was first."""
    why = {"reason": reason.value, "sentence": sentence}
    moved = _move(cursor, registration_id, RegistrationState.REJECTED, source=source, **why)
    if moved is None:
        return False
    subject = f"{moved.name}@{moved.version}"
    note_of_system(cursor, moved.tenant, "model.reject", subject, {"reason": reason.value})
    return True


def _move(
    cursor: Cursor,
    registration_id: UUID,
    to: RegistrationState,
    *,
    source: RegistrationState | None = None,
    **changes: Any,
) -> Registration | None:
    """Move a registration by compare-and-set, from `source` only, when given. Return None if another process was
    first."""
    also = sql.SQL("").join(sql.SQL(", {} = {}").format(sql.Identifier(k), sql.Placeholder(k)) for k in changes)
    query = sql.SQL(
        """
        UPDATE model_registrations SET state = %(to)s, updated_at = now(), woken_at = now() {also}
        WHERE id = %(id)s AND state = ANY(%(sources)s) RETURNING *
        """
    ).format(also=also)
    guard = [state.value for state in select_sources(REGISTRATION_MOVES, to) if source in (None, state)]
    row = cursor.execute(query, {**changes, "to": to.value, "id": registration_id, "sources": guard}).fetchone()
    return rows.read_registration(row) if row else None


def ask_for_trial(cursor: Cursor, registration: Registration) -> None:
    """Send a message that asks a worker to try the package."""
    cursor.execute("UPDATE model_registrations SET woken_at = now() WHERE id = %s", (registration.id,))
    cursor.execute(
        "INSERT INTO outbox (tenant, topic, body, traceparent) VALUES (%s, %s, %s, %s)",
        (registration.tenant, QUEUE, Jsonb(make_trial_message(registration)), make_traceparent()),
    )
