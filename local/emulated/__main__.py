"""`python -m local.emulated`: deploys, goes the whole way, says what is missing, and takes everything down again."""

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
from local.sample_slide import sample_slide
from local.stack_file import alone

#: What a part that is missing or broken ends in; anything else is a fault of this command, and shows its traceback.
_EXPECTED = (DeploymentFailed, NotEmulated, RuntimeError, LookupError, httpx.HTTPError)
#: Bundles of code that did not change are not made again; and what a run that was killed left running.
KEPT = ("cdk.out", RUNNING, "postgres")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    folder: Annotated[Path, typer.Option(help="Where its data lies.")] = FOLDER / "emulated",
    slide: Annotated[Path | None, typer.Option(exists=True, help="Another one than that of the demo.")] = None,
) -> None:
    """Exit code 0 only when nothing is missing."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # what was started is stopped, as after Ctrl-C
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    with alone(folder.with_name(f"{folder.name}.lock")):
        complete = run(folder, slide or sample_slide(FOLDER / "cache"), Console())
    raise typer.Exit(0 if complete else 1)


def run(folder: Path, slide: Path, console: Console) -> bool:
    """Whether everything was deployed and gone through."""
    report = Report(console)
    _clear(folder)
    installation = EmulatedInstallation(folder, report)
    try:
        installation.start()
        try:
            Journey(installation, report).go(slide)
            look_around(installation, report)
        finally:
            console.print(f"logs of the functions and of the worker: {keep_logs(installation)}")
    except _EXPECTED as error:
        report.check(str(error), holds=False)
    finally:
        with report.step("take everything down"):
            installation.stop()
    return report.verdict()


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    app()
