"""The `tessera` command."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from tessera.commands import admin, models
from tessera.commands.convert import convert
from tessera.commands.deidentify import deidentify
from tessera.commands.delete import delete, hold
from tessera.commands.evaluate import evaluate
from tessera.commands.inspect import inspect
from tessera.commands.restate import restate
from tessera.commands.run import run
from tessera.commands.submit import submit
from tessera.commands.upload import upload
from tessera.commands.usage import usage
from tessera.commands.watch import watch
from tessera.local_run.inputs import UsageError
from tessera.local_run.outcomes import FAILED, USAGE
from tessera.progress import complain
from wsi.errors import TesseraError
from wsi.extras import EXTRAS, describe_missing_package

app = typer.Typer(
    name="tessera",
    help="AI models over whole-slide images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(version("tessera-wsi"))
        raise typer.Exit


@app.callback()
def tessera(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run AI models over whole-slide images."""


app.command()(run)
app.command()(inspect)
app.command()(evaluate)
app.command()(convert)
app.command()(deidentify)
app.command()(upload)
app.command()(restate)
app.command()(submit)
app.command()(delete)
app.command()(hold)
app.command()(watch)
app.command()(usage)
app.add_typer(models.app)
app.add_typer(admin.app)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 2 wrong call, 3 slide rejected, 4 job failed, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A file name that is no UTF-8, or that a console of Windows cannot show, must not end a run over a folder
            # when the table is printed. JSON stays valid.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except UsageError as error:
        complain(str(error))
        raise SystemExit(USAGE) from None
    except TesseraError as error:  # before the first slide: S3 cannot be listed, the API not be asked
        complain(error.sentence)
        raise SystemExit(FAILED) from None
    except ModuleNotFoundError as error:
        if error.name is None or error.name not in EXTRAS:
            raise
        complain(describe_missing_package("This", error.name))
        raise SystemExit(USAGE) from None
