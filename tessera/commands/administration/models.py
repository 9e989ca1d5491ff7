"""`tessera admin models`: models of the installation. Admins add versions by `tessera models add`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tessera.commands.administration.asking import ApiUrl, AsJson, connect, show, show_items
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError

app = typer.Typer(name="models", help="Models of the installation: list, register.", no_args_is_help=True)


@app.command("list")
def list_all(*, api: ApiUrl, api_key: ApiKey, as_json: AsJson = False) -> None:
    """List the versions that take jobs."""
    with connect(api, api_key) as administration:
        items = administration.list_models()
    columns = {
        "model": lambda one: one["name"],
        "version": lambda one: one["version"],
        "default": lambda one: "yes" if one["is_default"] else "",
        "digest": lambda one: one["digest"][:12],
    }
    show_items(items, columns, as_json=as_json)


@app.command()
def builtin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="stain-density, for example.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    as_json: AsJson = False,
) -> None:
    """Register a built-in model, for operators. Repeating it changes nothing."""
    with connect(api, api_key) as administration:
        answer = administration.create("models/builtin", {"name": name})
    show(answer, [f"model {answer['model']} {answer['version']}"], as_json=as_json)


@app.command()
def register(
    card: Annotated[
        Path, typer.Argument(metavar="CARD", help="card.json of the package.", exists=True, dir_okay=False)
    ],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    package: Annotated[str, typer.Option(metavar="S3_URI", help="Where the package is: s3://bucket/folder/.")],
    default: Annotated[bool, typer.Option("--default", help="Jobs that name only the model take it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Register a package that is in the models bucket already, for operators."""
    try:
        read: Any = json.loads(card.read_text())
    except ValueError as error:
        raise UsageError(f"{card} is not JSON") from error
    with connect(api, api_key) as administration:
        fields = {"card": read, "package_uri": package, "is_default": default}
        answer = administration.create("models", fields)
    show(answer, [f"model {answer['model']} {answer['version']}"], as_json=as_json)
