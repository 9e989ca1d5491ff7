"""People of tenants in SQL."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.administration.acting import (
    ActingTransactions,
    begin_change,
    find_tenant_of,
    note_change,
)
from adapters.postgres.connections import Cursor
from wsi.administration.records import HandedOver, Member
from wsi.errors import Conflict, NotFound
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
            if role is not None and role is not before.role:
                if Role.OPERATOR in (role, before.role):
                    raise Conflict("Operators become one, and cease to be one, by moving to another tenant.")
                cursor.execute("UPDATE users SET role = %s WHERE id = %s", (role, member))
                detail = {"role": role, "before": before.role}
                note_change(cursor, actor, before.tenant, "user.role", f"user:{member}", detail)
            if is_disabled is not None and is_disabled is not (before.disabled_at is not None):
                cursor.execute(
                    "UPDATE users SET disabled_at = CASE WHEN %s THEN now() END WHERE id = %s", (is_disabled, member)
                )
                action = "user.disable" if is_disabled else "user.enable"
                note_change(cursor, actor, before.tenant, action, f"user:{member}")
            return _get(cursor, member)

    def move_member(self, actor: Actor, member: UUID, tenant: UUID, role: Role) -> Member:
        with self._acting(actor) as cursor:
            before = find_tenant_of(cursor, _TENANT, member, _UNKNOWN)
            if before == tenant:
                raise Conflict("The person is in this tenant already.")
            for one in sorted((before, tenant)):  # in one order, so that two moves never wait for each other
                begin_change(cursor, one)
            cursor.execute("UPDATE users SET tenant = %s, role = %s WHERE id = %s", (tenant, role, member))
            for one, action in ((before, "user.leave"), (tenant, "user.join")):
                begin_change(cursor, one)  # whose log the line is for
                detail = {"role": role} if one == tenant else {}
                note_change(cursor, actor, one, action, f"user:{member}", detail)
            return _get(cursor, member)

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


def _get(cursor: Cursor, member: UUID) -> Member:
    row = cursor.execute(f"SELECT {_COLUMNS} FROM users WHERE id = %s".encode(), (member,)).fetchone()
    if row is None:
        raise NotFound(_UNKNOWN)
    return rows.read_member(row)
