"""`tessera admin cost`: the bill of a month, before it comes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from adapters.settings.prices import LIST_VERSION, REGION
from tessera.costs.advice import list_advice
from tessera.costs.bill import NOT_INCLUDED, Bill, compute_bill
from tessera.costs.bill_line import BillLine, sum_dollars
from tessera.costs.configuration import Configuration, Preset, make_configuration
from tessera.costs.load import Load
from tessera.costs.usage import read_usage
from tessera.terminal import print_json

_DEFAULTS = Load(slides_a_day=0)

_NOTE = (
    "On-demand prices of {region}, without taxes; eu-central-1 costs some percent more. * not compared with AWS's price"
    " list of {version}: look these prices up."
)


def cost(
    *,
    slides_a_day: Annotated[float, typer.Option(min=0, max=100_000, help="Slides that arrive, and are analysed once.")],
    gib: Annotated[float, typer.Option(min=0, max=10_000, help="Size of a slide, in GiB.")] = _DEFAULTS.gib_a_slide,
    preset: Annotated[Preset, typer.Option(help="The deployment's preset.")] = Preset.PROD,
    context: Annotated[
        list[str] | None,
        typer.Option("-c", metavar="NAME=VALUE", help="A setting over the preset, as for the deployment."),
    ] = None,
    gpu_seconds: Annotated[
        float, typer.Option(min=0, max=86_400, help="Of a slide, with its share of boots and waiting.")
    ] = _DEFAULTS.gpu_seconds_a_slide,
    on_demand_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of GPU hours without spot capacity.")
    ] = _DEFAULTS.on_demand_share,
    kept_days: Annotated[
        float,
        typer.Option(min=1, max=36_500, help="Age of the oldest slides: they pile up, and so does their storage."),
    ] = _DEFAULTS.kept_days,
    log_gib: Annotated[
        float, typer.Option(min=0, max=100_000, help="Logs of a month without slides, in GiB.")
    ] = _DEFAULTS.idle_log_gib_a_month,
    usage: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Answer of the deployment's action list_usage, for the advice; - is stdin."),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line with quantity and price, not each service.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Print the monthly bill of a deployment by service, what of it is due without any slide, and advice on spot,
    on-demand prices and savings plans. It asks AWS nothing: all prices are in one table, with date and source."""
    configuration = make_configuration(preset, context or ())
    load = Load(
        slides_a_day=slides_a_day,
        gib_a_slide=gib,
        gpu_seconds_a_slide=gpu_seconds,
        on_demand_share=on_demand_share,
        kept_days=kept_days,
        idle_log_gib_a_month=log_gib,
    )
    bill = compute_bill(configuration, load)
    advice = list_advice(bill, load, read_usage(usage) if usage is not None else None)
    if as_json:
        print_json(_describe(configuration, load, bill, advice))
        return
    console = Console(highlight=False)
    console.print(f"{preset}: {slides_a_day:g} slides a day of {gib:g} GiB, the oldest {kept_days:g} days old")
    console.print(_make_table_of_lines(bill) if lines else _make_table(bill))
    for sentence in (*advice, _NOTE.format(region=REGION, version=LIST_VERSION), f"Not included: {NOT_INCLUDED}."):
        console.print(sentence, markup=False, soft_wrap=True)


def _make_table(bill: Bill) -> Table:
    table = Table("service", box=box.SIMPLE_HEAD)
    for name in ("$ a month", "of it idle, $", "for each slide, $"):
        table.add_column(name, justify="right")
    for service, part in bill.services.items():
        table.add_row(service, f"{part.dollars:,.2f}", f"{part.idle_dollars:,.2f}", _show_a_slide(part))
    table.add_section()
    table.add_row("all", f"{bill.dollars:,.2f}", f"{bill.idle_dollars:,.2f}", _show_a_slide(bill), style="bold")
    return table


def _show_a_slide(part: Bill) -> str:
    return "" if part.dollars_a_slide is None else f"{part.dollars_a_slide:,.4f}"


def _make_table_of_lines(bill: Bill) -> Table:
    table = Table("service", "item", box=box.SIMPLE_HEAD)
    for name in ("quantity", "unit", "$ a unit", "$ a month"):
        table.add_column(name, justify="left" if name == "unit" else "right")
    for name, lines in (("idle", bill.idle), ("slides", bill.of_slides)):
        for line in lines:
            table.add_row(*_make_row(line))
        table.add_row(name, "", "", "", "", f"{sum_dollars(lines):,.2f}", style="bold", end_section=True)
    table.add_row("all", "", "", "", "", f"{bill.dollars:,.2f}", style="bold")
    return table


def _make_row(line: BillLine) -> tuple[str, ...]:
    price = line.price
    return (
        line.service,
        line.item,
        f"{line.quantity:,.3g}" if line.quantity < 100 else f"{line.quantity:,.0f}",
        price.unit,
        f"{price.dollars:g}{'' if price.was_checked else ' *'}",
        f"{line.dollars:,.2f}",
    )


def _describe(configuration: Configuration, load: Load, bill: Bill, advice: tuple[str, ...]) -> dict[str, Any]:
    return {
        "region": REGION,
        "price_list_version": LIST_VERSION,
        "configuration": asdict(configuration),
        "load": asdict(load),
        "idle": [_describe_line(line) for line in bill.idle],
        "of_slides": [_describe_line(line) for line in bill.of_slides],
        "dollars_a_month": bill.dollars,
        "idle_dollars_a_month": bill.idle_dollars,
        "dollars_a_slide": bill.dollars_a_slide,
        "advice": list(advice),
        "not_included": NOT_INCLUDED,
    }


def _describe_line(line: BillLine) -> dict[str, Any]:
    return {
        "service": line.service,
        "item": line.item,
        "quantity": line.quantity,
        "price": asdict(line.price),
        "dollars": line.dollars,
    }
