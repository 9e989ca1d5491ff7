"""`python -m local.emulated`: deploys the app, sends a slide through it, reports what is missing, and takes everything
down."""

from __future__ import annotations

import logging
import shutil
import signal
import sys
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from adapters.deploying import DeploymentFailed
from cdk.emulated import NotEmulated
from local.daemon import FOLDER
from local.emulated.aftermath import keep_logs, look_around
from local.emulated.installation import RUNNING, EmulatedInstallation
from local.emulated.journey import Journey
from local.emulated.report import Report
from local.processes.stack_file import hold_lock
from local.sample_slide import fetch_sample_slide

#: Errors of a part that is missing or broken; any other is a fault of this command, and shows its traceback.
_EXPECTED = (DeploymentFailed, NotEmulated, RuntimeError, LookupError, httpx.HTTPError)
#: Kept so that unchanged code is not bundled again, and so that what a killed run left running can be stopped.
KEPT = ("cdk.out", RUNNING, "postgres")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    folder: Annotated[Path, typer.Option(help="Where its data lies.")] = FOLDER / "emulated",
    slide: Annotated[Path | None, typer.Option(exists=True, help="Another one than that of the demo.")] = None,
    package: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Of a model that is added on the way.")
    ] = None,
) -> None:
    """Deploy the app to MiniStack and send a slide through it. The exit code is 0 only when nothing is missing."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # what was started is stopped, as after Ctrl-C
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    with hold_lock(folder.with_name(f"{folder.name}.lock")):
        complete = run(folder, slide or fetch_sample_slide(FOLDER / "cache"), package, Console())
    raise typer.Exit(0 if complete else 1)


def run(folder: Path, slide: Path, package: Path | None, console: Console) -> bool:
    """Deploy everything, walk through it, and return whether all of it worked."""
    report = Report(console)
    _clear(folder)
    installation = EmulatedInstallation(folder, report)
    try:
        installation.start()
        try:
            Journey(installation, report).run(slide, package)
            look_around(installation, report)
        finally:
            console.print(f"logs of the functions and of the worker: {keep_logs(installation)}")
    except _EXPECTED as error:
        report.check(str(error), holds=False)
    finally:
        with report.step("take everything down"):
            installation.stop()
    return report.print_verdict()


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    app()
