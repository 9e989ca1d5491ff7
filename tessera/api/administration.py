"""The routes of admins and operators as calls. Answers are the API's own JSON: commands print them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tessera.api.transport import Transport
from wsi.errors import Invalid

Item = dict[str, Any]


class AdministrationApi:
    """Calls below /admin. Every call raises the typed errors of `wsi.errors`, with the API's own sentence."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list_items(self, noun: str, *, tenant: str | None = None) -> list[Item]:
        """List tenants, people, invitations or keys: of a tenant, if operators name one."""
        query = {"tenant": tenant} if tenant is not None else None
        return self._transport.call("GET", f"/admin/{noun}", query=query, repeatable=True)["items"]

    def list_models(self) -> list[Item]:
        items: list[Item] = []
        query: dict[str, str] | None = None
        while True:
            page = self._transport.call("GET", "/models", query=query, repeatable=True)
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            query = {"cursor": page["next_cursor"]}

    def get_quotas(self, tenant: str | None) -> Item:
        query = {"tenant": tenant} if tenant is not None else None
        return self._transport.call("GET", "/admin/quotas", query=query, repeatable=True)

    def get(self, noun: str, tenant: str) -> Item:
        """Return what there is one of for each tenant."""
        return self._transport.call("GET", f"/admin/{noun}", query={"tenant": tenant}, repeatable=True)

    def list_dead_letters(self, queue: str | None) -> list[Item]:
        query = {"queue": queue} if queue is not None else None
        return self._transport.call("GET", "/admin/dead-letters", query=query, repeatable=True)["items"]

    def create(self, path: str, fields: Mapping[str, Any]) -> Item:
        """Send a new thing or an action. It is sent once, since some make a key."""
        return self._transport.call("POST", f"/admin/{path}", body=fields, repeatable=False)

    def change(self, path: str, fields: Mapping[str, Any]) -> Item:
        return self._transport.call("PATCH", f"/admin/{path}", body=fields, repeatable=True)

    def remove(self, path: str) -> Item | None:
        return self._transport.call("DELETE", f"/admin/{path}", repeatable=True)

    def find_person(self, named: str, tenant: str | None) -> str:
        """Return the id of the person with this id or address. Raises Invalid unless there is exactly one."""
        people = self.list_items("people", tenant=tenant)
        found = [
            one["person_id"] for one in people if named.lower() in (one["person_id"], (one["email"] or "").lower())
        ]
        return _get_only(found, "person with this address or id")

    def find_invitation(self, named: str, tenant: str | None) -> str:
        """Return the id of the invitation with this id or address. Raises Invalid unless there is exactly one."""
        pending = self.list_items("invitations", tenant=tenant)
        found = [one["invitation_id"] for one in pending if named.lower() in (one["invitation_id"], one["email"])]
        return _get_only(found, "invitation of this address or id that can be accepted")

    def find_key(self, named: str, tenant: str | None) -> str:
        """Return the id of the key with this id or prefix, or of the only one of this name that works. Raises
        Invalid."""
        keys = self.list_items("keys", tenant=tenant)
        exact = [one["key_id"] for one in keys if named.removeprefix("tsk_") in (one["key_id"], one["prefix"])]
        return _get_only(
            exact or [one["key_id"] for one in keys if one["name"] == named and one["works"]],
            "working key of this name; name it by its prefix or id",
        )


def _get_only(found: list[str], wanted: str) -> str:
    if len(found) != 1:
        raise Invalid(f"There is {'no' if not found else 'more than one'} {wanted}.")
    return found[0]
