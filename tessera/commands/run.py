"""`tessera run`: models over slides in this process, with no service at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console

from adapters.settings.prices import DOLLARS_PER_GPU_HOUR
from tessera.commands.options import (
    AllowUpsampling,
    Fast,
    FocalPlane,
    FromLevel,
    Mpp,
    Objects,
    ObjectsFrame,
    OnDevice,
    OpticalPath,
    Picture,
    RegionFrame,
    RegionGeojson,
    Threads,
    Workers,
)
from tessera.local_run.devices import Devices
from tessera.local_run.estimates import show
from tessera.local_run.given_objects import read_given_objects
from tessera.local_run.inputs import Found, SlideInput, UsageError, expand
from tessera.local_run.inputs.local_paths import make_reachable
from tessera.local_run.outcomes import INTERRUPTED, Outcome, SlideOutcome, choose_exit_code, make_table
from tessera.local_run.regions import read_region
from tessera.local_run.reporting import report, report_found
from tessera.progress import TilesBar, complain
from wsi.records.jobs import JobOptions
from wsi.records.outline import Frame
from wsi.records.slides import Choice

if TYPE_CHECKING:
    from tessera.local_run.sources import Sources
    from wsi.given.objects import GivenObjects
    from wsi.planning.estimate import Estimate
    from wsi.records.model_card import ModelCard

Model = TypeVar("Model")


def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH…", help="Slides, folders, s3:// URLs or prefixes.", show_default=False),
    ] = None,
    *,
    model: Annotated[
        list[str],
        typer.Option(
            help="A built-in model (stain-density) or a package folder (WSInfer layout). Several, each with its own "
            "--model: slides are opened and examined once, those that read the same boxes share a decode, and results "
            "lie in DIR/<slide>/<model>.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go; of several slides, in DIR/<name>.")
    ] = None,
    mpp: Mpp = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
    device: OnDevice = Devices.CPU,
    allow_upsampling: AllowUpsampling = False,
    read_level: FromLevel = None,
    fast: Fast = False,
    region_geojson: RegionGeojson = None,
    region_frame: RegionFrame = Frame.FULL,
    objects: Objects = None,
    objects_frame: ObjectsFrame = Frame.FULL,
    workers: Workers = None,
    threads: Threads = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help='A CSV with the columns path, mpp, roi ("x,y,w,h" in level-0 pixels), optical_path, focal_plane, '
            "picture."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only say what it would take on a worker: tiles, shards, seconds, dollars."),
    ] = False,
    dollars_per_hour: Annotated[
        float, typer.Option(min=0, help="Price of a worker, for --dry-run: that of a g6.2xlarge on spot.")
    ] = DOLLARS_PER_GPU_HOUR,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: one JSON object on stdout.")] = False,
) -> None:
    """Run models over each slide. Finished slides are skipped, interrupted ones taken up where they were."""
    # A model's code, numpy and the readers are loaded for this command alone.
    from tessera.local_run.batch import choose_folders, run_batch
    from tessera.local_run.local_runs import open_local_runs
    from tessera.local_run.running import choose_models
    from tessera.local_run.sources import Sources

    sources = Sources()
    choice = Choice.of(optical_path, focal_plane, picture)
    found = expand(paths or [], manifest, mpp=mpp, choice=choice, skip=out, remote=sources)
    report_found(found)
    if region_geojson is not None and len(found.slides) > 1:
        raise UsageError("--region-geojson is for one slide")
    outline = read_region(region_geojson, region_frame, on_note=complain) if region_geojson is not None else None
    if objects is not None and len(found.slides) > 1:
        raise UsageError("--objects is for one slide")
    if objects is not None and outline is not None:
        raise UsageError("--objects and --region-geojson exclude each other: leave out the objects outside the region")
    given = read_given_objects(objects, objects_frame, on_note=complain) if objects is not None else None
    options = JobOptions(
        allow_upsampling=allow_upsampling,
        read_level=read_level,
        fast=fast,
        outline=outline,
        objects=given.as_option() if given is not None else None,
    )
    if dry_run:
        cards = {one.card.name: one.card for one in choose_models(model, "cpu")}
        raise typer.Exit(_estimate(found, cards, sources, options, dollars_per_hour, as_json, given))
    if as_json:
        raise UsageError("--json is for --dry-run; a run writes summary.json")
    if out is None:
        raise UsageError("name a folder for the results: --out DIR")
    chosen = choose_models(model, device.kind, threads)
    runs = pair_with_models(found.slides, {one.card.name: one for one in chosen})
    named = {slide.name: one for slide, one in runs}
    out = make_reachable(out, max(map(len, named), default=0))
    folder_of = choose_folders([slide for slide, _ in runs], out)
    with (
        open_local_runs(chosen, sources, options, out, device=device.value, workers=workers, objects=given) as local,
        TilesBar() as bar,
    ):
        shared = set[str]()  #: slides whose models have computed what they share

        def analyse(slide: SlideInput) -> SlideOutcome:
            name = slide.name.rpartition("/")[0]
            if len(chosen) > 1 and name not in shared:
                shared.add(name)
                of_slide = [(folder_of(one), model) for one, model in runs if one.name.rpartition("/")[0] == name]
                local.share_decode(name, slide, of_slide, bar)
            return local.analyse(slide, named[slide.name], folder_of(slide), bar)

        try:
            outcomes = run_batch(
                [slide for slide, _ in runs],
                analyse,
                folder_of=folder_of,
                on_outcome=report,
                left_out=found.left_out,
            )
        except KeyboardInterrupt:
            complain("interrupted: run the same command again, and it goes on where it stopped")
            raise typer.Exit(INTERRUPTED) from None
    Console(soft_wrap=False).print(make_table(outcomes, found))
    raise typer.Exit(choose_exit_code(outcomes))


def pair_with_models(slides: Sequence[SlideInput], models: Mapping[str, Model]) -> Sequence[tuple[SlideInput, Model]]:
    """Return every slide with every model, the models of a slide one after the other, each pair with a name of its
    own."""
    if len(models) == 1:
        return [(slide, one) for slide in slides for one in models.values()]
    return [
        (replace(slide, name=f"{slide.name}/{name.replace('/', '-')}"), one)
        for slide in slides
        for name, one in models.items()
    ]


def _estimate(
    found: Found,
    models: Mapping[str, ModelCard],
    sources: Sources,
    options: JobOptions,
    dollars_per_hour: float,
    as_json: bool,
    objects: GivenObjects | None,
) -> int:
    """Print what each slide would take, and return the exit code."""
    from tessera.local_run.batch import run_batch
    from tessera.local_run.dry_run import estimate_run

    estimates: dict[str, Estimate] = {}
    runs = pair_with_models(found.slides, models)
    cards = {slide.name: card for slide, card in runs}

    def look(slide: SlideInput) -> SlideOutcome:
        estimate = estimate_run(
            slide,
            cards[slide.name],
            sources=sources,
            options=options,
            dollars_per_gpu_hour=dollars_per_hour,
            objects=objects,
        )
        estimates[slide.name] = estimate
        return SlideOutcome(name=slide.name, outcome=Outcome.ESTIMATED, tiles=estimate.tiles)

    try:
        outcomes = run_batch(
            [slide for slide, _ in runs],
            look,
            folder_of=lambda slide: None,
            on_outcome=report,
            left_out=found.left_out,
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    show(outcomes, estimates, found=found, as_json=as_json)
    return choose_exit_code(outcomes)
