"""`tessera admin tenants`, for operators."""

from __future__ import annotations

from typing import Annotated

import typer

from tessera.commands.administration.asking import ApiUrl, AsJson, connect, show, show_items
from tessera.commands.options import ApiKey

app = typer.Typer(name="tenants", help="Tenants, for operators: create, rename, suspend, resume.", no_args_is_help=True)

Tenant = Annotated[str, typer.Argument(metavar="NAME", help="The tenant's name.")]


@app.command("list")
def list_all(*, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """List all tenants with the numbers of their people and keys."""
    with connect(api, api_key) as administration:
        items = administration.list_items("tenants")
    columns = {
        "tenant": lambda one: one["name"],
        "people": lambda one: str(one["users"]),
        "keys": lambda one: str(one["keys"]),
        "state": lambda one: "suspended" if one["is_suspended"] else "",
    }
    show_items(items, columns, as_json=as_json)


@app.command()
def add(name: Tenant, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Create a tenant. Then invite its first admin: `tessera admin people invite --tenant NAME --role admin`."""
    with connect(api, api_key) as administration:
        made = administration.create("tenants", {"name": name})
    show(made, [f"tenant {name} {made['tenant']}"], as_json=as_json)


@app.command()
def rename(
    name: Tenant,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="Its name from now on.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    as_json: AsJson = False,
) -> None:
    """Give a tenant another name. Nothing else changes."""
    with connect(api, api_key) as administration:
        answer = administration.create("tenants/rename", {"tenant": name, "name": new_name})
    show(answer, [f"tenant {name} is now {new_name}"], as_json=as_json)


@app.command()
def suspend(name: Tenant, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Refuse a tenant's people and keys from the next request on. Its jobs run to their end, and its data stays."""
    with connect(api, api_key) as administration:
        answer = administration.create("tenants/suspend", {"tenant": name})
    show(answer, [f"tenant {name} is suspended"], as_json=as_json)


@app.command()
def resume(name: Tenant, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Let the people and keys of a suspended tenant in again."""
    with connect(api, api_key) as administration:
        answer = administration.create("tenants/resume", {"tenant": name})
    show(answer, [f"tenant {name} has resumed"], as_json=as_json)
