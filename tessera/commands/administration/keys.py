"""`tessera admin keys`: API keys of a tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from tessera.api.administration import Item
from tessera.commands.administration.asking import (
    ApiUrl,
    AsJson,
    Columns,
    OfTenant,
    connect,
    describe_time,
    show,
    show_items,
)
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError
from wsi.records.identity import Role

app = typer.Typer(name="keys", help="API keys of a tenant: make, rotate, expire, revoke.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="KEY", help="The key's name, prefix or id.")]
Expiry = Annotated[
    datetime | None,
    typer.Option("--expires", help="When it stops working, in local time; left out: never."),
]


@app.command("list")
def list_all(
    *,
    api: ApiUrl,
    api_key: ApiKey,
    tenant: OfTenant = None,
    every: Annotated[bool, typer.Option("--all", help="Revoked and expired keys too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the keys of a tenant, and when each was last used."""
    with connect(api, api_key) as administration:
        items = [one for one in administration.list_items("keys", tenant=tenant) if every or one["works"]]
    columns: Columns = {
        "key": lambda one: one["name"],
        "begins with": lambda one: f"tsk_{one['prefix']}_",
        "role": lambda one: one["role"],
        "last used": lambda one: describe_time(one["last_used_at"], "never"),
        "expires": lambda one: describe_time(one["expires_at"], ""),
    } | ({"revoked": lambda one: describe_time(one["revoked_at"], "")} if every else {})
    show_items(items, columns, as_json=as_json)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What lists and jobs call the key.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    role: Annotated[Role, typer.Option(help="What the key may do.")],
    expires: Expiry = None,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it. Nobody can read it again."""
    fields: dict[str, Any] = {"name": name, "role": role.value}
    if expires is not None:
        fields["expires_at"] = expires.astimezone().isoformat()
    if tenant is not None:
        fields["tenant"] = tenant
    with connect(api, api_key) as administration:
        made = administration.create("keys", fields)
    _show_new(made, as_json=as_json)


@app.command()
def rotate(
    key: Named,
    *,
    api: ApiUrl,
    api_key: ApiKey,
    hours: Annotated[float, typer.Option(min=0, max=720, help="How long the old key works on.")] = 24,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Make a key's successor and print it. It has the same name, role and expiry."""
    with connect(api, api_key) as administration:
        made = administration.create(f"keys/{administration.find_key(key, tenant)}/rotate", {"hours": hours})
    _show_new(made, as_json=as_json)


@app.command()
def expire(
    key: Named,
    *,
    api: ApiUrl,
    api_key: ApiKey,
    at: Annotated[datetime | None, typer.Option(help="When it stops working, in local time.")] = None,
    never: Annotated[bool, typer.Option("--never", help="Take the expiry back.")] = False,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Set when a key expires."""
    if (at is not None) is never:
        raise UsageError("give --at with a time, or --never")
    fields = {"expires_at": at.astimezone().isoformat() if at is not None else None}
    with connect(api, api_key) as administration:
        changed = administration.change(f"keys/{administration.find_key(key, tenant)}", fields)
    show(changed, [f"{_name(changed)} expires: {describe_time(changed['expires_at'], 'never')}"], as_json=as_json)


@app.command()
def revoke(key: Named, *, api: ApiUrl, api_key: ApiKey, tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """Revoke a key. It is refused within a minute."""
    with connect(api, api_key) as administration:
        revoked = administration.remove(f"keys/{administration.find_key(key, tenant)}") or {}
    show(revoked, [f"{_name(revoked)} is revoked"], as_json=as_json)


def _show_new(made: Item, *, as_json: bool) -> None:
    sentences = [f"{_name(made)}, {made['role']}, expires: {describe_time(made['expires_at'], 'never')}", made["key"]]
    show(made, sentences, as_json=as_json)


def _name(key: Item) -> str:
    return f"key {key['name']} (tsk_{key['prefix']}_)"
