"""`tessera admin retention`: how long a tenant's slides and results are kept."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tessera.api.administration import Item
from tessera.commands.administration.asking import NONE, ApiUrl, AsJson, connect, read_number, show_items
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError
from tessera.terminal import print_json

app = typer.Typer(name="retention", help="How long slides and results are kept, for operators.", no_args_is_help=True)

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's name.")]
Days = Annotated[str | None, typer.Option(metavar="DAYS", help=f"A whole number, or {NONE} to keep them.")]


@app.command("show")
def show_retention(tenant: Tenant, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Print after how many days what is deleted."""
    with connect(api, api_key) as administration:
        found = administration.get("retention", tenant)
    _show(found, as_json=as_json)


@app.command("set")
def set_retention(
    tenant: Tenant,
    *,
    api: ApiUrl,
    api_key: ApiKey,
    slide_days: Days = None,
    result_days: Days = None,
    key_days: Days = None,
    as_json: AsJson = False,
) -> None:
    """Set periods; those that are left out stay. What is older is deleted within minutes, but for legal holds."""
    given = {"slide_days": slide_days, "result_days": result_days, "key_days": key_days}
    fields: dict[str, Any] = {
        name: read_number(name, value, what="a whole number of days")
        for name, value in given.items()
        if value is not None
    }
    if not fields:
        raise UsageError("name at least one period to set")
    with connect(api, api_key) as administration:
        found = administration.change("retention", {"tenant": tenant, **fields})
    _show(found, as_json=as_json)


def _show(retention: Item, *, as_json: bool) -> None:
    if as_json:
        print_json(retention)
        return
    rows = [{"period": name.removesuffix("_days"), "days": days} for name, days in retention.items()]
    columns = {
        "of": lambda one: one["period"],
        "days": lambda one: "kept" if one["days"] is None else str(one["days"]),
    }
    show_items(rows, columns, as_json=False)
