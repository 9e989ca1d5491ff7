"""`tessera watch`: slides are analysed as they arrive in a folder or below an S3 prefix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tessera.api.connection import drop_unset
from tessera.api.submission import Asked
from tessera.commands.options import (
    AllowUpsampling,
    Deidentify,
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
from tessera.local_run.devices import Devices
from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.local_paths import make_reachable
from tessera.local_run.inputs.naming import MAX_NAME
from tessera.local_run.outcomes import INTERRUPTED, choose_exit_code, make_table
from tessera.progress import complain
from wsi.errors import TesseraError
from wsi.records.jobs import JobOptions, JobTerms, Priority
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
    """Analyse each slide once it is complete, until Ctrl-C. Started again, it resumes where it stopped."""
    from tessera.commands.watch_means import open_api_means, open_local_means
    from tessera.local_run.checkpoints import hold_folder
    from tessera.local_run.local_runs import make_folder
    from tessera.local_run.sources import Sources
    from tessera.watching.arrivals import Patience
    from tessera.watching.journal import FOLDER, Journal
    from tessera.watching.place import SearchedPlace
    from tessera.watching.report import make_line_printer, print_json_end, print_json_line
    from tessera.watching.watcher import SearchPace, Watcher

    results = out or Path(f"{Path(model).name}-results")
    sources, choice = Sources(), Choice.of(optical_path, focal_plane, picture)
    searched = SearchedPlace(place, out=results, remote=sources, mpp=mpp, choice=choice)
    terms = JobTerms(
        priority=priority, label=label, notify_email=notify_email or None, notify_webhook=notify_webhook or None
    )
    if api is None:
        if deidentify or terms != JobTerms():
            raise UsageError("--deidentify, --priority, --label, --notify-email and --notify-webhook are for --api")
        options = JobOptions(allow_upsampling=allow_upsampling, read_level=read_level, fast=fast)
        means = open_local_means(model, sources, replace(options, mpp=mpp, choice=choice), results, device, workers)
    else:
        if device is not Devices.CPU or workers is not None:
            raise UsageError("--device and --workers are for runs on this machine, without --api")
        if not api_key:
            raise UsageError("--api needs an API key: --api-key, or TESSERA_API_KEY in the environment")
        asked = Asked(
            model=model,
            terms=terms,
            options=drop_unset(allow_upsampling=allow_upsampling, read_level=read_level, fast=fast),
            deidentify=deidentify,
        )
        means = open_api_means(api, api_key, asked, sources, out, mpp=mpp, choice=choice)
    results = make_reachable(results, MAX_NAME)
    make_folder(results)
    pace = SearchPace(interval=interval, patience=Patience(settle=settle, give_up=0 if once else give_up), once=once)
    tell = print_json_line if as_json else make_line_printer(searched.root)
    busy = f"Another watch writes into {results}: end it, or name another folder with --out."
    broken: TesseraError | None = None
    interrupted = False
    with hold_folder(results / FOLDER, busy=busy), means as how:
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
    outcomes = watcher.list_outcomes()
    if as_json:
        print_json_end(outcomes, interrupted=interrupted)
    else:
        Console().print(make_table(outcomes))
    if watcher.being_written:
        complain(f"{watcher.being_written:,} files with temporary names, as copies in progress have, are not inspected")
    if broken is not None:
        raise broken
    if interrupted:
        complain("interrupted: run the same command again, and it resumes")
    raise typer.Exit(INTERRUPTED if interrupted else choose_exit_code(outcomes))
