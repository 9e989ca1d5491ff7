"""Options, connection and tables of the commands of administration."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from tessera.api.administration import AdministrationApi, Item
from tessera.api.connection import open_transport
from tessera.local_run.inputs import UsageError
from tessera.terminal import escape_text, print_json

ApiUrl = Annotated[str, typer.Option("--api", metavar="URL", envvar="TESSERA_API", help="The installation.")]
OfTenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="For operators: whose; left out, your own tenant's.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The API's answer as one JSON object on stdout.")]

NONE = "none"  #: of an option that takes a value back

#: Heads of a table, and how a cell is read from an item.
Columns = Mapping[str, Callable[[Item], str]]


@contextmanager
def connect(api: str, api_key: str) -> Generator[AdministrationApi]:
    with open_transport(api, api_key) as transport:
        yield AdministrationApi(transport)


def show_items(items: list[Item], columns: Columns, *, as_json: bool) -> None:
    """Print a list as a table, or as JSON."""
    if as_json:
        print_json({"items": items})
        return
    table = Table(box=box.SIMPLE_HEAD)
    for head in columns:
        table.add_column(head, overflow="fold")  # an id that is cut short names nothing
    for item in items:
        table.add_row(*(escape_text(read(item)) for read in columns.values()))
    Console(highlight=False).print(table if items else "none")


def show(answer: Mapping[str, Any], sentences: Iterable[str], *, as_json: bool) -> None:
    """Print an answer in sentences, or as JSON."""
    if as_json:
        print_json(dict(answer))
        return
    for sentence in sentences:
        Console(highlight=False, soft_wrap=True, markup=False).print(escape_text(sentence))


def describe_time(value: str | None, otherwise: str) -> str:
    """Return a time of the API in the local zone, to the minute."""
    return datetime.fromisoformat(value).astimezone().strftime("%Y-%m-%d %H:%M") if value is not None else otherwise


def read_number(name: str, value: str, *, what: str = "a whole number") -> int | None:
    """Return an option's whole number; None where it says NONE. Raises UsageError."""
    if value == NONE:
        return None
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"--{name.replace('_', '-')} takes {what}, or {NONE}")
    return int(value)
