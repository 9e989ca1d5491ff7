"""People of tenants in SQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.administration.acting import (
    ActingTransactions,
    begin_change,
    find_tenant_of,
    note_change,
)
from adapters.postgres.connections import Cursor
from wsi.errors import Conflict, NotFound
from wsi.records.administration.people import HandedOver, Member
from wsi.records.identity import Actor, Role

_COLUMNS = "id, tenant, subject, role, email, disabled_at, created_at"
_TENANT = "SELECT tenant FROM users WHERE id = %s"
_UNKNOWN = "There is no such person; the list of people shows the ids."


class PostgresPeople(ActingTransactions):
    def find_tenant(self, actor: Actor, name: str) -> UUID:
        with self._acting(actor) as cursor:
            row = cursor.execute("SELECT id FROM tenants WHERE name = %s", (name,)).fetchone()
            if row is None:
                raise NotFound("There is no tenant of this name.")
            return row["id"]

    def list_members(self, actor: Actor, tenant: UUID) -> tuple[Member, ...]:
        with self._acting(actor) as cursor:
            found = cursor.execute(
                f"SELECT {_COLUMNS} FROM users WHERE tenant = %s ORDER BY email, created_at, id".encode(), (tenant,)
            )
            return tuple(rows.read_member(row) for row in found)

    def change_member(
        self, actor: Actor, member: UUID, *, role: Role | None = None, is_disabled: bool | None = None
    ) -> Member:
        with self._acting(actor) as cursor:
            begin_change(cursor, find_tenant_of(cursor, _TENANT, member, _UNKNOWN))
            before = _get(cursor, member)
            after = replace(before, role=role or before.role)
            if is_disabled is not None and is_disabled is not (before.disabled_at is not None):
                after = replace(after, disabled_at=_read_clock(cursor) if is_disabled else None)
            if after == before:
                return before
            if after.role is not before.role and Role.OPERATOR in (after.role, before.role):
                raise Conflict("Operators become one, and cease to be one, by moving to another tenant.")
            # One statement: an actor who changes himself sees nothing of the tenant after it.
            cursor.execute(
                "UPDATE users SET role = %s, disabled_at = %s WHERE id = %s", (after.role, after.disabled_at, member)
            )
            if after.role is not before.role:
                detail = {"role": after.role, "before": before.role}
                note_change(cursor, actor, before.tenant, "user.role", f"user:{member}", detail)
            if after.disabled_at != before.disabled_at:
                action = "user.enable" if after.disabled_at is None else "user.disable"
                note_change(cursor, actor, before.tenant, action, f"user:{member}")
            return after

    def move_member(self, actor: Actor, member: UUID, tenant: UUID, role: Role) -> Member:
        with self._acting(actor) as cursor:
            before = find_tenant_of(cursor, _TENANT, member, _UNKNOWN)
            if before == tenant:
                raise Conflict("The person is in this tenant already.")
            for one in sorted((before, tenant)):  # in one order, so that two moves never wait for each other
                begin_change(cursor, one)
            moved = replace(_get(cursor, member), tenant=tenant, role=role)
            # The lines come first: an operator who moves himself administers nothing after it.
            for one, action in ((before, "user.leave"), (tenant, "user.join")):
                begin_change(cursor, one)  # whose log the line is for
                detail = {"role": role} if one == tenant else {}
                note_change(cursor, actor, one, action, f"user:{member}", detail)
            cursor.execute("UPDATE users SET tenant = %s, role = %s WHERE id = %s", (tenant, role, member))
            return moved

    def hand_over(self, actor: Actor, member: UUID, to: UUID) -> HandedOver:
        with self._acting(actor) as cursor:
            tenant = find_tenant_of(cursor, _TENANT, member, _UNKNOWN)
            begin_change(cursor, tenant)
            giver, taker = _get(cursor, member), _get(cursor, to)
            if taker.tenant != tenant:
                raise NotFound(_UNKNOWN)
            if taker.disabled_at is not None or taker.role not in (Role.ANALYST, Role.ADMIN):
                raise Conflict("Who takes over must be able to sign in, as an analyst or an admin.")
            moved = (f"user:{to}", f"user:{member}", tenant)
            slides = cursor.execute(
                "UPDATE slides SET created_by = %s WHERE created_by = %s AND tenant = %s AND state <> 'DELETED'", moved
            ).rowcount
            # A job that has ended was requested by whom it was requested.
            jobs = cursor.execute(
                """
                UPDATE jobs SET created_by = %s, notify_email =
                    CASE WHEN lower(notify_email) = lower(%s) THEN coalesce(%s, notify_email) ELSE notify_email END
                WHERE created_by = %s AND tenant = %s AND finished_at IS NULL
                """,
                (moved[0], giver.email, taker.email, *moved[1:]),
            ).rowcount
            done = {"to": moved[0], "slides": slides, "jobs": jobs}
            note_change(cursor, actor, tenant, "user.hand_over", f"user:{member}", done)
            return HandedOver(slides=slides, jobs=jobs)


def _read_clock(cursor: Cursor) -> datetime:
    row = cursor.execute("SELECT now() AS now").fetchone()
    assert row is not None, "a value is asked for"
    return row["now"]


def _get(cursor: Cursor, member: UUID) -> Member:
    row = cursor.execute(f"SELECT {_COLUMNS} FROM users WHERE id = %s".encode(), (member,)).fetchone()
    if row is None:
        raise NotFound(_UNKNOWN)
    return rows.read_member(row)
