"""`tessera run`: models over slides in this process, with no service at all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from client.commands.options import AllowUpsampling, Fast, FocalPlane, OpticalPath, RegionFrame, RegionGeojson
from client.estimates import show
from client.inputs import SlideInput, UsageError, expand, read_region
from client.outcomes import INTERRUPTED, Outcome, SlideOutcome, exit_code, table
from client.progress import TilesBar, complain, report
from wsi.outline import Frame
from wsi.records.jobs import JobOptions
from wsi.records.slides import Choice

if TYPE_CHECKING:
    from client.sources import Sources
    from wsi.estimate import Estimate
    from wsi.model_card import ModelCard


class Device(StrEnum):
    CPU = "cpu"
    CUDA = "cuda"


def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH…", help="Slides, folders, s3:// URLs or prefixes.", show_default=False),
    ] = None,
    *,
    model: Annotated[str, typer.Option(help="A built-in model (stain-density) or a package folder (WSInfer layout).")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go; of several slides, in DIR/<name>.")
    ] = None,
    mpp: Annotated[
        float | None, typer.Option(min=0.01, max=100, help="Microns a pixel of the slide; wins over the file.")
    ] = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    device: Annotated[Device, typer.Option(help="Where the model runs.")] = Device.CPU,
    allow_upsampling: AllowUpsampling = False,
    fast: Fast = False,
    region_geojson: RegionGeojson = None,
    region_frame: RegionFrame = Frame.FULL,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Decoders: threads on the CPU (2), processes for a GPU (all cores but 2)."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help='A CSV with the columns path, mpp, roi ("x,y,w,h" in level-0 pixels), optical_path, focal_plane.'
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only say what it would take on a worker: tiles, shards, seconds, dollars."),
    ] = False,
    dollars_per_hour: Annotated[
        float, typer.Option(min=0, help="Price of a worker, for --dry-run: that of a g4dn.xlarge.")
    ] = 0.53,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: one JSON object on stdout.")] = False,
) -> None:
    """Runs a model over each slide. Finished slides are skipped, interrupted ones taken up where they were."""
    # A model's code, numpy and the readers are loaded for this command alone.
    from client.batch import folders, run_batch
    from client.local_run import choose_card, choose_model, run_slide
    from client.shards import Watched
    from client.sources import Sources
    from gpu_worker.decoding.choice import decoders_for
    from gpu_worker.engine import Engine

    sources = Sources()
    choice = Choice.of(optical_path, focal_plane)
    slides = expand(paths or [], manifest, mpp=mpp, choice=choice, skip=out, listing=sources.list_uris)
    if region_geojson is not None and len(slides) > 1:
        raise UsageError("--region-geojson is for one slide")
    outline = read_region(region_geojson, region_frame) if region_geojson is not None else None
    options = JobOptions(allow_upsampling=allow_upsampling, fast=fast, outline=outline)
    if dry_run:
        raise typer.Exit(_estimate(slides, choose_card(model)[0], sources, options, dollars_per_hour, as_json))
    if as_json:
        raise UsageError("--json is for --dry-run; a run writes summary.json")
    if out is None:
        raise UsageError("name a folder for the results: --out DIR")
    chosen = choose_model(model, device.value)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {out} can not be written: {error.strerror}") from error

    folder_of = folders(slides, out)
    decoders, budget = decoders_for(device.value, workers)
    with (
        closing(decoders),
        Engine(decoders, budget) as engine,
        TilesBar() as bar,
        _stop_on_signals() as stop,
    ):

        def analyse(slide: SlideInput) -> SlideOutcome:
            begun = bar.begin(slide.name)
            watched = Watched(stop=stop, on_planned=begun, on_tiles=bar.advance, on_copy=bar.copied)
            return run_slide(
                slide,
                folder_of(slide),
                chosen,
                sources=sources,
                engine=engine,
                watched=watched,
                options=options,
            )

        try:
            outcomes = run_batch(slides, analyse, folder_of=folder_of, on_outcome=report)
        except KeyboardInterrupt:
            complain("interrupted: run the same command again, and it goes on where it stopped")
            raise typer.Exit(INTERRUPTED) from None
    Console(soft_wrap=False).print(table(outcomes))
    raise typer.Exit(exit_code(outcomes))


def _estimate(
    slides: Sequence[SlideInput],
    card: ModelCard,
    sources: Sources,
    options: JobOptions,
    dollars_per_hour: float,
    as_json: bool,
) -> int:
    """Prints what each slide would take. Returns the exit code."""
    from client.batch import run_batch
    from client.dry_run import planned

    estimates: dict[str, Estimate] = {}

    def look(slide: SlideInput) -> SlideOutcome:
        found = planned(slide, card, sources=sources, options=options, dollars_per_gpu_hour=dollars_per_hour)
        estimates[slide.name] = found
        return SlideOutcome(name=slide.name, outcome=Outcome.ESTIMATED, tiles=found.tiles)

    try:
        outcomes = run_batch(slides, look, folder_of=lambda slide: None, on_outcome=report)
    except KeyboardInterrupt:
        return INTERRUPTED
    show(outcomes, estimates, as_json=as_json)
    return exit_code(outcomes)


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """The first SIGINT or SIGTERM asks for a stop after the batch in flight; a second SIGINT does not wait for it."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
