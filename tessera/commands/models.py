"""`tessera models`: packages made, checked, compared with another pipeline, and added to an installation."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tessera.commands.add_model import add, default, list_all
from tessera.commands.make_model import make
from tessera.local_run.devices import Device
from tessera.local_run.inputs import SlideInput, expand, get_only_slide
from tessera.local_run.outcomes import FAILED
from tessera.progress import complain
from tessera.terminal import escape_text

if TYPE_CHECKING:
    from tessera.local_run.sources import Sources
    from tessera.models.check import Checked
    from wsi.records.model_card import ModelCard
    from wsi.records.outputs import ObjectOutput

#: Below it, 0.1 % of tiles is less than one.
ENOUGH = 1000
#: Seconds of scoring, unless a number of tiles is asked for.
ABOUT = 30.0

app = typer.Typer(name="models", help="Model packages: made, checked, compared, added, listed.", no_args_is_help=True)

app.command()(make)
app.command()(add)
app.command("list")(list_all)
app.command()(default)

Package = Annotated[Path, typer.Argument(metavar="FOLDER", help="A model package.", exists=True, file_okay=False)]


@app.command()
def check(
    folder: Package,
    *,
    device: Annotated[Device, typer.Option(help="Where the model runs.")] = Device.CPU,
    slide: Annotated[str | None, typer.Option(metavar="SLIDE", help="Where the tiles to compare come from.")] = None,
    tiles: Annotated[
        int | None,
        typer.Option(
            min=1, max=100_000, help=f"How many of the slide's; else {ENOUGH:,}, or as many as half a minute allows."
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0, help="The model is stopped after that time.")] = 30,
    memory: Annotated[float, typer.Option(min=0, help="GiB; a model that takes more is stopped (Linux).")] = 16,
) -> None:
    """Load a package as a worker would, print its card, and compare its precision with fp32 on tiles of a slide (or its
    golden ones). Exit code 4 when it is not fit to be registered."""
    from tessera.local_run.sources import Sources
    from tessera.models.check import Limits, check_within

    named = _one(slide, Sources()) if slide is not None else None
    seconds = math.inf if tiles else ABOUT
    limits = Limits(seconds=60 * minutes, bytes=memory * 1024**3)
    checked = check_within(limits, folder, device.value, named, tiles or ENOUGH, seconds)
    Console().print(_table(checked))
    for doubt in checked.doubts:
        complain(f"perhaps not meant: {doubt}")
    beyond = checked.found.describe_excess(checked.card.tolerance) if checked.found is not None else None
    if beyond is not None:
        complain(f"not within the card's tolerance in {checked.card.precision}: {beyond}")
        raise typer.Exit(FAILED)


@app.command()
def golden(
    folder: Package,
    *,
    slide: Annotated[str, typer.Option(metavar="SLIDE", help="Where the tiles come from.")],
    tiles: Annotated[int, typer.Option(min=1, max=256, help="How many; each load of the model runs them.")] = 32,
) -> None:
    """Add golden tiles to a package: tiles of a slide with their scores in fp32, which every worker must reproduce
    before it takes a job. They become part of the package: take a slide that you may pass on."""
    from tessera.local_run.sources import Sources
    from tessera.models import check as model_check

    sources = Sources()
    card = model_check.make_golden(folder, _one(slide, sources), tiles, sources)
    Console(soft_wrap=True, highlight=False).print(
        f"golden.npz and card.json written; the package is now {card.digest}"
    )


@app.command()
def compare(
    folder: Package,
    *,
    scores: Annotated[
        Path,
        typer.Option(
            metavar="CSV",
            help="Your own scores: minx, miny in level-0 px, and a column for each of the card's.",
            exists=True,
            dir_okay=False,
        ),
    ],
    slide: Annotated[str, typer.Option(metavar="SLIDE", help="The slide that they are of.")],
    tiles: Annotated[int, typer.Option(min=1, max=100_000, help="How many of them are compared.")] = ENOUGH,
) -> None:
    """Compare your own pipeline's scores with ours, tile by tile, and say what most likely makes the difference: the
    resize, the level, the boxes, the normalisation, the order of channels, the stains, the activation. Exit code 4 when
    they are further apart than the card's tolerance."""
    from tessera.local_run.sources import Sources
    from tessera.models import comparison as model_comparison

    theirs = model_comparison.read_scores(scores, model_comparison.read_package(folder))
    with Console(stderr=True).status("Computing the tiles, and looking for what makes the difference …"):
        found = model_comparison.compare(folder, _one(slide, Sources()), theirs, tiles)
    for line in model_comparison.describe_comparison(found, theirs):
        Console(soft_wrap=True, highlight=False).print(line, markup=False)
    if found.found.describe_excess(found.card.tolerance) is not None:
        raise typer.Exit(FAILED)


def _one(slide: str, sources: Sources) -> SlideInput:
    return get_only_slide(slide, expand([slide], remote=sources))


def _table(checked: Checked) -> Table:
    drawn = Table(show_header=False, highlight=False)
    drawn.add_column(style="bold")
    drawn.add_column(overflow="fold")
    for name, value in {**_card(checked.card), **_findings(checked)}.items():
        drawn.add_row(name, escape_text(value))
    return drawn


def _card(card: ModelCard) -> dict[str, str]:
    """Return the card's lines, in reading order."""
    facts = asdict(card)
    facts["columns"] = ", ".join(column.name for column in card.columns)
    if card.embedding is not None:
        facts["embedding"] = _words(asdict(card.embedding))
    if card.objects is not None:
        facts["objects"] = _words({"classes": ", ".join(card.objects.classes), **_list_lengths(card.objects)})
    facts["tolerance"] = _words(asdict(card.tolerance))
    facts["tiles_per_second"] = card.tiles_per_second
    if card.stain_normalisation is not None:
        facts["stain_normalisation"] = _words(asdict(card.stain_normalisation))
    return {name: _text(value) for name, value in facts.items() if value not in (None, "", ())}


def _list_lengths(objects: ObjectOutput) -> dict[str, Any]:
    facts = asdict(objects)
    return {**facts.pop("rule"), **{name: f"{facts[name]} px" for name in ("stride", "margin", "largest")}}


def _findings(checked: Checked) -> dict[str, str]:
    facts: dict[str, str] = {}
    if checked.field is not None:
        stride, margin = checked.field.stride, checked.field.margin
        facts["measured stride"] = "none" if stride is None else f"{stride} px"
        facts["measured margin"] = "the whole tile" if margin is None else f"{margin} px"
    else:
        facts["golden tiles"] = "reproduced" if checked.golden else "none: `tessera models golden` adds some"
    found = checked.found
    if found is not None:
        few = f"; {ENOUGH:,} and more would tell" if found.tiles < ENOUGH else ""
        facts["against fp32"] = (
            f"{found.tiles:,} tiles: max |dp| {found.max_difference:.2g}, mean {found.mean_difference:.2g}, "
            f"top-1 changes {found.top1_changes} ({found.top1_changes / found.tiles:.2%}){few}"
        )
        facts["within the tolerance"] = "no" if found.describe_excess(checked.card.tolerance) else "yes"
    elif checked.tiles_per_second is None:
        facts["against fp32"] = "no tiles to compare: name a slide by --slide"
    else:
        facts["against fp32"] = "it runs in fp32"
    if checked.tiles_per_second is not None:
        facts["tiles/s here"] = f"{checked.tiles_per_second:.0f} (model and copies, no reading)"
    return facts


def _words(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value != "")


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
