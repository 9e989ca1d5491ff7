"""`tessera watch`: slides are analysed as they arrive in a folder or below an S3 prefix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from client.commands.asking import stated
from client.commands.options import (
    AllowUpsampling,
    Deidentify,
    Devices,
    Fast,
    FocalPlane,
    FromLevel,
    InQueue,
    Label,
    Mpp,
    NotifyEmail,
    NotifyWebhook,
    OnDevice,
    OpticalPath,
    Picture,
    Workers,
)
from client.inputs import UsageError
from client.outcomes import INTERRUPTED, exit_code, table
from client.progress import complain
from client.submission import Asked
from wsi.errors import TesseraError
from wsi.records.jobs import JobOptions, Priority
from wsi.records.slides import Choice


def watch(
    place: Annotated[str, typer.Argument(metavar="PLACE", help="A folder, or an s3:// prefix.")],
    *,
    model: Annotated[
        str, typer.Option(help="As for `run`; with --api the name of a registered model.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where results go, in DIR/<name>, and what was done is remembered; else MODEL-results here. With "
            "--api, results are downloaded only where DIR is named.",
        ),
    ] = None,
    api: Annotated[
        str | None, typer.Option(metavar="URL", help="Submit slides to this installation; else they are run here.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="TESSERA_API_KEY", help="API key, or the token of a person. For --api.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="End when all that is there, or is arriving, has its outcome.")
    ] = False,
    settle: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long the files of a slide must stay the same.")
    ] = 30.0,
    give_up: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="How long to wait for the rest of an incomplete slide. With --once: 0.",
        ),
    ] = 3600.0,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time between looks.")] = 10.0,
    mpp: Mpp = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
    allow_upsampling: AllowUpsampling = False,
    read_level: FromLevel = None,
    fast: Fast = False,
    device: OnDevice = Devices.CPU,
    workers: Workers = None,
    deidentify: Deidentify = False,
    priority: InQueue = Priority.NORMAL,
    label: Label = None,
    notify_email: NotifyEmail = None,
    notify_webhook: NotifyWebhook = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout, and no table.")] = False,
) -> None:
    """Analyses each slide once it is complete, until Ctrl-C. Started again, it resumes where it stopped."""
    from client.commands.local_runs import make_folder
    from client.commands.watch_means import here, there
    from client.partial import alone_in
    from client.sources import Sources
    from client.watching.arrivals import Patience
    from client.watching.journal import FOLDER, Journal
    from client.watching.place import SearchedPlace
    from client.watching.report import json_end, json_lines, lines
    from client.watching.watcher import Pace, Watcher

    results = out or Path(f"{Path(model).name}-results")
    sources, choice = Sources(), Choice.of(optical_path, focal_plane, picture)
    searched = SearchedPlace(place, out=results, remote=sources, mpp=mpp, choice=choice)
    notify = stated(email=notify_email, webhook=notify_webhook)
    if api is None:
        if deidentify or label or notify or priority is not Priority.NORMAL:
            raise UsageError("--deidentify, --priority, --label, --notify-email and --notify-webhook are for --api")
        options = JobOptions(allow_upsampling=allow_upsampling, read_level=read_level, fast=fast)
        means = here(model, sources, replace(options, mpp=mpp, choice=choice), results, device, workers)
    else:
        if device is not Devices.CPU or workers is not None:
            raise UsageError("--device and --workers are for runs on this machine, without --api")
        if not api_key:
            raise UsageError("--api needs an API key: --api-key, or TESSERA_API_KEY in the environment")
        asked = Asked(
            model=model,
            priority=priority,
            options=stated(allow_upsampling=allow_upsampling, read_level=read_level, fast=fast),
            label=label,
            notify=notify,
            deidentify=deidentify,
        )
        means = there(api, api_key, asked, sources, out, mpp=mpp, choice=choice)
    make_folder(results)
    pace = Pace(interval=interval, patience=Patience(settle=settle, give_up=0 if once else give_up), once=once)
    tell = json_lines if as_json else lines(searched.root)
    busy = f"Another watch writes into {results}: end it, or name another folder with --out."
    broken: TesseraError | None = None
    interrupted = False
    with alone_in(results / FOLDER, busy=busy), means as how:
        journal = Journal(results / FOLDER)
        watcher = Watcher(
            searched, how.analysis, journal, results, pace=pace, probe=how.probe, wait=how.wait, tell=tell
        )
        try:
            watcher.run()
        except KeyboardInterrupt:
            interrupted = True
        except TesseraError as error:
            broken = error
    outcomes = watcher.outcomes()
    if as_json:
        json_end(outcomes, interrupted=interrupted)
    else:
        Console().print(table(outcomes))
    if watcher.being_written:
        complain(f"{watcher.being_written:,} files with temporary names, as copies in progress have, are not inspected")
    if broken is not None:
        raise broken
    if interrupted:
        complain("interrupted: run the same command again, and it resumes")
    raise typer.Exit(INTERRUPTED if interrupted else exit_code(outcomes))
