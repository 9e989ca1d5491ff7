"""`tessera admin sources`: where a tenant's slides by reference may lie."""

from __future__ import annotations

from typing import Annotated

import typer

from tessera.commands.administration.asking import ApiUrl, AsJson, connect, show, show_items
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError

app = typer.Typer(name="sources", help="Buckets of a tenant's own slides, for operators.", no_args_is_help=True)

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's name.")]
Uri = Annotated[str, typer.Argument(metavar="S3_URI", help="s3://bucket/ or s3://bucket/prefix/.")]


@app.command("list")
def list_all(tenant: Tenant, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """List where a tenant's slides by reference may lie."""
    with connect(api, api_key) as administration:
        items = administration.list_items("sources", tenant=tenant)
    show_items(items, {"source": lambda one: f"s3://{one['bucket']}/{one['prefix']}"}, as_json=as_json)


@app.command()
def add(tenant: Tenant, uri: Uri, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Let a tenant register and read the objects below an address."""
    with connect(api, api_key) as administration:
        answer = administration.create("sources", {"tenant": tenant, **_read(uri)})
    show(answer, [f"{tenant} may read {uri}"], as_json=as_json)


@app.command()
def remove(tenant: Tenant, uri: Uri, *, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """Remove a source. Slides that no other source covers can be read no more; their results stay."""
    with connect(api, api_key) as administration:
        answer = administration.create("sources/remove", {"tenant": tenant, **_read(uri)})
    said = f"{tenant} may not read {uri} any more" if answer["removed"] else f"{tenant} had no such source"
    show(answer, [said], as_json=as_json)


def _read(uri: str) -> dict[str, str]:
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    if not uri.startswith("s3://") or not bucket:
        raise UsageError("a source reads s3://bucket/ or s3://bucket/prefix/")
    return {"bucket": bucket, "prefix": prefix}
