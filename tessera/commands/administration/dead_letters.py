"""`tessera admin dead-letters` and `tessera admin redrive`: messages that were given up, and what they were about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from tessera.api.administration import Item
from tessera.commands.administration.asking import ApiUrl, AsJson, connect, show_items
from tessera.commands.options import ApiKey

Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Of this queue alone, as plan.")]

_COLUMNS: Mapping[str, Callable[[Item], str]] = {
    "letter": lambda one: str(one["id"]),
    "queue": lambda one: one["queue"],
    "of": lambda one: one["job_id"] or one["slide_id"] or "",
    "arrived": lambda one: one["arrived_at"],
    "outcome": lambda one: one["redrive"] or one["outcome"],
}


def list_dead_letters(*, api: ApiUrl, api_key: ApiKey, queue: Queue = None, as_json: AsJson = False) -> None:
    """List dead letters that wait for an operator."""
    with connect(api, api_key) as administration:
        items = administration.list_dead_letters(queue)
    show_items(items, _COLUMNS, as_json=as_json)


def redrive(*, api: ApiUrl, api_key: ApiKey, queue: Queue = None, as_json: AsJson = False) -> None:
    """Have what open dead letters were about go on, if anybody still wants it. Each letter is redriven once."""
    fields: dict[str, Any] = {} if queue is None else {"queue": queue}
    with connect(api, api_key) as administration:
        items = administration.create("dead-letters/redrive", fields)["items"]
    show_items(items, _COLUMNS, as_json=as_json)
