"""The printed table of a dry run: a row a slide, and the sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tessera.local_run.inputs import Found
from tessera.local_run.outcomes import Outcome, SlideOutcome, make_caption, make_left_out_rows
from tessera.progress import complain
from tessera.terminal import escape_text, print_json
from wsi.planning.estimate import Estimate


def show(outcomes: Sequence[SlideOutcome], estimates: Mapping[str, Estimate], *, found: Found, as_json: bool) -> None:
    """Print the estimates on stdout. `estimates` are by the slide's name: of those that were not rejected."""
    if as_json:
        print_json(_json(outcomes, estimates, found))
    else:
        Console(soft_wrap=False).print(_table(outcomes, estimates, found))
        if not _total(estimates.values()).measured:
            complain(
                "nobody measured the speed of this model: seconds and dollars are those of a slow one. A model that "
                "`tessera models add` adds is measured"
            )


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
        measured=all(each.measured for each in found),
        exact=all(each.exact for each in found),
    )


def _table(outcomes: Sequence[SlideOutcome], estimates: Mapping[str, Estimate], all_found: Found) -> Table:
    drawn = Table(
        caption=make_caption(outcomes, all_found),
        caption_justify="left",
        highlight=False,
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    drawn.add_column("slide", overflow="fold", min_width=20)
    for name in ("tiles", "shards", "seconds", "dollars"):
        drawn.add_column(name, justify="right")
    for row in outcomes:
        if row.outcome is Outcome.LEFT_OUT:
            continue
        found = estimates.get(row.name)
        drawn.add_row(escape_text(row.name), *(_cells(found) if found else (f"{row.outcome.value}: {row.reason}",)))
    for names, cell in make_left_out_rows(outcomes):
        drawn.add_row(escape_text(names), cell)
    if len(estimates) > 1:
        drawn.add_section()
        drawn.add_row("all", *_cells(_total(estimates.values())))
    return drawn


def _cells(found: Estimate) -> tuple[str, str, str, str]:
    tiles, near = f"{found.tiles:,}" if found.exact else f"about {found.tiles:,}", "" if found.measured else "about "
    return tiles, f"{found.shards:,}", f"{near}{found.seconds:,.0f}", f"{near}{found.dollars:,.2f}"
