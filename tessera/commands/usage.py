"""`tessera usage`: what an organisation's analyses took, and its budget."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tessera.api.connection import open_transport
from tessera.api.rest import Api
from tessera.commands.options import ApiKey
from tessera.terminal import escape_text, print_json
from wsi.records.operations.usage import UsageBy

Url = Annotated[str, typer.Option("--api", metavar="URL", envvar="TESSERA_API", help="The installation.")]
_BAR = 24  #: characters of the longest bar


def usage(
    *,
    api: Url,
    api_key: ApiKey,
    by: Annotated[UsageBy, typer.Option(help="What a line stands for.")] = UsageBy.DAY,
    first: Annotated[
        datetime | None,
        typer.Option("--from", formats=["%Y-%m-%d"], help="First day in UTC; else the first of the last day's month."),
    ] = None,
    last: Annotated[
        datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day in UTC; else today.")
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you asked for; all else is for admins.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Print what analyses took: tiles, workers' time and dollars, and what is used of the month's budget."""
    with open_transport(api, api_key) as transport:
        report = Api(transport).read_usage(
            by, first=first.date() if first else None, last=last.date() if last else None, mine=mine
        )
    if as_json:
        print_json(report)
        return
    console = Console(highlight=False)
    console.print(_draw_table(report))
    if (budget := report["budget"]) is not None:
        console.print(describe_budget(budget), soft_wrap=True)


def describe_budget(budget: dict[str, Any]) -> str:
    """Return a sentence about what is used of the budget."""
    share = f" ({budget['share']:.0%})" if budget["share"] is not None else ""
    then = "; then new jobs are refused" if budget["stops"] else ""
    return (
        f"Budget of {budget['month'][:7]}: {budget['dollars']:,.2f} of {budget['dollars_a_month']:,.2f} dollars are"
        f" used{share}{then}."
    )


def _draw_table(report: dict[str, Any]) -> Table:
    table = Table(title=f"{report['first']} to {report['last']}", box=None, title_justify="left", show_footer=True)
    table.add_column(report["by"], footer="all")
    table.add_column("")
    for heading, total in (
        ("tiles", f"{report['tiles']:,}"),
        ("worker hours", f"{report['worker_seconds'] / 3600:,.2f}"),
        ("dollars", f"{report['dollars']:,.2f}"),
    ):
        table.add_column(heading, justify="right", footer=total)
    most = max((line["worker_seconds"] for line in report["items"]), default=0) or 1
    for line in report["items"]:
        table.add_row(
            escape_text(_name(line)),
            "█" * round(_BAR * line["worker_seconds"] / most),
            f"{line['tiles']:,}",
            f"{line['worker_seconds'] / 3600:,.2f}",
            f"{line['dollars']:,.2f}",
        )
    return table


def _name(line: dict[str, Any]) -> str:
    if line["day"] is not None:
        return line["day"]
    if line["model"] is not None:
        return f"{line['model']} {line['model_version']}"
    return line["person"] or line["requester"] or "before an upgrade"
