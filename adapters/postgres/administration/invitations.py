"""Invitations in SQL. A person accepts one by signing in (`tessera.accept_invitation`)."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres import rows
from adapters.postgres.administration.acting import (
    ActingTransactions,
    begin_change,
    find_tenant_of,
    note_change,
)
from wsi.errors import Conflict
from wsi.records.administration.people import Invitation, SignInAccount
from wsi.records.identity import Actor, Role

_COLUMNS = "id, tenant, email, role, expires_at, created_at"
_PENDING = "accepted_at IS NULL AND withdrawn_at IS NULL"
_TENANT = f"SELECT tenant FROM invitations WHERE id = %s AND {_PENDING}"
_UNKNOWN = "There is no such invitation, or it was accepted or withdrawn."


class PostgresInvitations(ActingTransactions):
    def list_invitations(self, actor: Actor, tenant: UUID) -> tuple[Invitation, ...]:
        with self._acting(actor) as cursor:
            found = cursor.execute(
                f"""
                SELECT {_COLUMNS} FROM invitations
                WHERE tenant = %s AND {_PENDING} AND expires_at > now() ORDER BY email
                """.encode(),
                (tenant,),
            )
            return tuple(rows.read_invitation(row) for row in found)

    def add_invitation(self, actor: Actor, tenant: UUID, email: str, role: Role, *, days: float) -> Invitation:
        address = email.lower()
        with self._acting(actor) as cursor:
            begin_change(cursor, tenant)
            known = cursor.execute("SELECT FROM users WHERE tenant = %s AND lower(email) = %s", (tenant, address))
            if known.fetchone() is not None:
                raise Conflict("A person with this address belongs to the tenant; change or enable that person.")
            cursor.execute(
                f"UPDATE invitations SET withdrawn_at = now() WHERE tenant = %s AND email = %s AND {_PENDING}".encode(),
                (tenant, address),
            )
            row = cursor.execute(
                f"""
                INSERT INTO invitations (tenant, email, role, expires_at)
                VALUES (%s, %s, %s, now() + make_interval(secs => %s)) RETURNING {_COLUMNS}
                """.encode(),
                (tenant, address, role, days * 86_400),
            ).fetchone()
            assert row is not None, "the invitation was just added"
            note_change(cursor, actor, tenant, "invitation.add", f"invitation:{row['id']}", {"role": role})
            return rows.read_invitation(row)

    def bind_invitation(self, actor: Actor, invitation: UUID, account: SignInAccount) -> None:
        with self._acting(actor) as cursor:
            begin_change(cursor, find_tenant_of(cursor, _TENANT, invitation, _UNKNOWN))
            row = cursor.execute(
                "SELECT tessera.has_account(%s, %s) AS is_known", (account.issuer, account.subject)
            ).fetchone()
            assert row is not None, "the function returns a value"
            if not row["is_known"]:
                cursor.execute(
                    "UPDATE invitations SET issuer = %s, subject = %s WHERE id = %s",
                    (account.issuer, account.subject, invitation),
                )
                return
        self.withdraw_invitation(actor, invitation)
        raise Conflict("This person belongs to a tenant already; one person can be in one tenant only.")

    def withdraw_invitation(self, actor: Actor, invitation: UUID) -> None:
        with self._acting(actor) as cursor:
            tenant = find_tenant_of(cursor, _TENANT, invitation, _UNKNOWN)
            begin_change(cursor, tenant)
            cursor.execute("UPDATE invitations SET withdrawn_at = now() WHERE id = %s", (invitation,))
            note_change(cursor, actor, tenant, "invitation.withdraw", f"invitation:{invitation}")
