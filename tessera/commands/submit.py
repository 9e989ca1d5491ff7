"""`tessera submit`: the client of the REST API."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tessera.api.connection import drop_unset, find_subscription_url, make_transport
from tessera.api.rest import Api, RemoteJob
from tessera.api.submission import Asked, estimate_slide, submit_slide
from tessera.api.watch import Realtime
from tessera.commands.options import (
    AllowUpsampling,
    ApiKey,
    Deidentify,
    Fast,
    FocalPlane,
    FromLevel,
    InQueue,
    Label,
    Mpp,
    NotifyEmail,
    NotifyWebhook,
    OpticalPath,
    Picture,
    RegionFrame,
    RegionGeojson,
)
from tessera.local_run.batch import choose_folders, run_batch
from tessera.local_run.estimates import show
from tessera.local_run.inputs import SlideInput, UsageError, expand
from tessera.local_run.outcomes import INTERRUPTED, SlideOutcome, choose_exit_code, make_table
from tessera.local_run.regions import read_region
from tessera.local_run.reporting import report, report_found
from tessera.progress import complain
from wsi.planning.estimate import Estimate
from wsi.records.jobs import JobTerms, Priority
from wsi.records.outline import Frame
from wsi.records.slides import Choice


def submit(
    slides: Annotated[list[str], typer.Argument(metavar="SLIDE…", help="Slides, or folders of them.")],
    *,
    api: Annotated[str, typer.Option(metavar="URL", envvar="TESSERA_API", help="The installation.")],
    model: Annotated[str, typer.Option(help="Name of a registered model.")],
    api_key: ApiKey,
    watching: Annotated[
        bool, typer.Option("--watch", help="Stay until the job is done, with live progress, and download the results.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where results go; else MODEL-results/<name> here. Implies --watch."),
    ] = None,
    mpp: Mpp = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
    deidentify: Deidentify = False,
    allow_upsampling: AllowUpsampling = False,
    read_level: FromLevel = None,
    fast: Fast = False,
    region_geojson: RegionGeojson = None,
    region_frame: RegionFrame = Frame.FULL,
    priority: InQueue = Priority.NORMAL,
    label: Label = None,
    notify_email: NotifyEmail = None,
    notify_webhook: NotifyWebhook = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="The same key again gives the same job. One slide only.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="SLIDE_ID", help="Go on with an upload that broke off. One slide only.")
    ] = None,
    realtime_url: Annotated[
        str | None, typer.Option(envvar="TESSERA_REALTIME_URL", help="Where to subscribe; without it, as the API says.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Upload, and only say what jobs would take: tiles, shards, seconds, dollars."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: one JSON object on stdout.")] = False,
) -> None:
    """Upload slides, start a job for each and, with --watch, follow it to its end and download the results."""
    found = expand(slides, mpp=mpp, choice=Choice.of(optical_path, focal_plane, picture), skip=out)
    report_found(found)
    if len(found.slides) > 1 and (idempotency_key or resume or region_geojson):
        raise UsageError("--idempotency-key, --resume and --region-geojson are for one slide")
    if as_json and not dry_run:
        raise UsageError("--json is for --dry-run")
    transport = make_transport(api, api_key)
    client = Api(transport)
    watching = not dry_run and (watching or out is not None)
    url = realtime_url or (find_subscription_url(client) if watching else None)
    asked = Asked(
        model=model,
        terms=JobTerms(
            priority=priority, label=label, notify_email=notify_email or None, notify_webhook=notify_webhook or None
        ),
        outline=read_region(region_geojson, region_frame, on_note=complain) if region_geojson is not None else None,
        options=drop_unset(allow_upsampling=allow_upsampling, read_level=read_level, fast=fast),
        **({"key_of": lambda slide_id: idempotency_key} if idempotency_key else {}),
        deidentify=deidentify,
        resume=resume,
        watch=watching,
        realtime=Realtime(url=url, credential=api_key) if url else None,
    )

    def choose_folder(slide: SlideInput) -> Path | None:
        if dry_run:
            return None
        if out is not None:
            return choose_folders(found.slides, out)(slide)
        return Path(f"{model}-results") / slide.name if watching else None

    def announce(job: RemoteJob) -> None:
        note = " (an equal job had finished; this is its result)" if job.reused else ""
        note = " (an equal job is under way; this is it)" if job.shared else note
        Console(soft_wrap=True, highlight=False).print(f"job {job.job_id}{note}")

    def tell(folder: Path) -> None:
        Console(soft_wrap=True, highlight=False, markup=False).print(f"results {folder}")

    estimates: dict[str, Estimate] = {}

    def send(slide: SlideInput) -> SlideOutcome:
        if dry_run:
            return estimate_slide(client, slide, asked, on_estimate=partial(estimates.__setitem__, slide.name))
        return submit_slide(client, slide, asked, choose_folder(slide), on_job=announce, on_results=tell)

    try:
        outcomes = run_batch(found.slides, send, folder_of=choose_folder, on_outcome=report, left_out=found.left_out)
    except KeyboardInterrupt:
        complain("interrupted: jobs that were started go on without this command")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        transport.close()
    if dry_run:
        show(outcomes, estimates, found=found, as_json=as_json)
    else:
        Console().print(make_table(outcomes, found))
    raise typer.Exit(choose_exit_code(outcomes))
