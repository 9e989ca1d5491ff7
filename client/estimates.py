"""What a dry run prints: a row a slide, and the sum."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from client.inputs import Found
from client.outcomes import Outcome, SlideOutcome, caption, left_out_rows
from client.terminal import escaped
from wsi.estimate import Estimate


def show(outcomes: Sequence[SlideOutcome], estimates: Mapping[str, Estimate], *, found: Found, as_json: bool) -> None:
    """Print on stdout. `estimates` are by the slide's name: of those that were not rejected."""
    if as_json:
        typer.echo(json.dumps(_json(outcomes, estimates, found), indent=2, ensure_ascii=False))
    else:
        Console(soft_wrap=False).print(_table(outcomes, estimates, found))


def _json(outcomes: Sequence[SlideOutcome], estimates: Mapping[str, Estimate], found: Found) -> dict[str, Any]:
    return {
        "slides": [
            {"name": row.name, "outcome": row.outcome.value}
            | (asdict(estimates[row.name]) if row.name in estimates else {})
            | ({"reason": row.reason, "sentence": row.sentence} if row.reason else {})
            for row in outcomes
        ],
        "total": asdict(_total(estimates.values())),
        "files": {"in_slides": found.files_of_slides, "left_out": found.files_left_out},
    }


def _total(estimates: Iterable[Estimate]) -> Estimate:
    found = list(estimates)
    return Estimate(
        tiles=sum(each.tiles for each in found),
        shards=sum(each.shards for each in found),
        seconds=sum(each.seconds for each in found),
        dollars=sum(each.dollars for each in found),
        exact=all(each.exact for each in found),
    )


def _table(outcomes: Sequence[SlideOutcome], estimates: Mapping[str, Estimate], all_found: Found) -> Table:
    drawn = Table(
        caption=caption(outcomes, all_found), caption_justify="left", highlight=False, box=SIMPLE_HEAD, pad_edge=False
    )
    drawn.add_column("slide", overflow="fold", min_width=20)
    for name in ("tiles", "shards", "seconds", "dollars"):
        drawn.add_column(name, justify="right")
    for row in outcomes:
        if row.outcome is Outcome.LEFT_OUT:
            continue
        found = estimates.get(row.name)
        drawn.add_row(escaped(row.name), *(_cells(found) if found else (f"{row.outcome.value}: {row.reason}",)))
    for names, cell in left_out_rows(outcomes):
        drawn.add_row(escaped(names), cell)
    if len(estimates) > 1:
        drawn.add_section()
        drawn.add_row("all", *_cells(_total(estimates.values())))
    return drawn


def _cells(found: Estimate) -> tuple[str, str, str, str]:
    tiles = f"{found.tiles:,}" if found.exact else f"about {found.tiles:,}"
    return tiles, f"{found.shards:,}", f"{found.seconds:,.0f}", f"{found.dollars:,.2f}"
