"""`tessera admin quotas`: what a tenant may use."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tessera.api.administration import Item
from tessera.commands.administration.asking import NONE, ApiUrl, AsJson, connect, read_number, show_items
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError
from tessera.terminal import print_json
from wsi.records.jobs import Priority

app = typer.Typer(name="quotas", help="What a tenant may use and ask for.", no_args_is_help=True)

Tenant = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="NAME", help="For operators: whose; left out, of all without a value of their own."
    ),
]
Limit = Annotated[str | None, typer.Option(metavar="N", help=f"A whole number, or {NONE} to take it back.")]


@app.command("show")
def show_quotas(*, api: ApiUrl, api_key: ApiKey, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Print the quotas: an admin's are those of the own tenant."""
    with connect(api, api_key) as administration:
        found = administration.get_quotas(tenant)
    _show(found, as_json=as_json)


@app.command("set")
def set_quotas(
    *,
    api: ApiUrl,
    api_key: ApiKey,
    tenant: Tenant = None,
    tiles_a_day: Limit = None,
    bytes_stored: Limit = None,
    uploads_open: Limit = None,
    jobs_waiting: Limit = None,
    top_priority: Annotated[
        str | None, typer.Option(metavar="PRIORITY", help=f"{', '.join(Priority)}, or {NONE} to take it back.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set quotas, for operators. Those that are left out stay."""
    given = {
        "tiles_a_day": tiles_a_day,
        "bytes_stored": bytes_stored,
        "uploads_open": uploads_open,
        "jobs_waiting": jobs_waiting,
    }
    fields: dict[str, Any] = {name: read_number(name, value) for name, value in given.items() if value is not None}
    if top_priority is not None:
        fields["top_priority"] = None if top_priority == NONE else top_priority
    if not fields:
        raise UsageError("name at least one quota to set")
    if tenant is not None:
        fields["tenant"] = tenant
    with connect(api, api_key) as administration:
        found = administration.change("quotas", fields)
    _show(found, as_json=as_json)


def _show(quotas: Item, *, as_json: bool) -> None:
    if as_json:
        print_json(quotas)
        return
    rows = [{"quota": name, "value": value} for name, value in quotas.items()]
    columns = {
        "quota": lambda one: one["quota"].replace("_", " "),
        "value": lambda one: "no limit" if one["value"] is None else str(one["value"]),
    }
    show_items(rows, columns, as_json=False)
