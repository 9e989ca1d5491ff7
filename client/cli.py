"""The `tessera` command."""

from __future__ import annotations

import io
import sys

import typer

from client.commands import models
from client.commands.deidentify import deidentify
from client.commands.inspect import inspect
from client.commands.restate import restate
from client.commands.run import run
from client.commands.submit import submit
from client.commands.upload import upload
from client.commands.watch import watch
from client.inputs import UsageError
from client.outcomes import FAILED, USAGE
from client.progress import complain
from wsi.errors import TesseraError

app = typer.Typer(
    name="tessera",
    help="AI models over whole-slide images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(inspect)
app.command()(deidentify)
app.command()(upload)
app.command()(restate)
app.command()(submit)
app.command()(watch)
app.add_typer(models.app)


def main() -> None:
    """Exit codes: 0 done, 2 wrong call, 3 slide rejected, 4 job failed, 130 interrupted."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name that is no UTF-8 must not end a run over a folder when the table is printed. JSON stays valid.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except UsageError as error:
        complain(str(error))
        raise SystemExit(USAGE) from None
    except TesseraError as error:  # before the first slide: S3 can not be listed, the API not be asked
        complain(error.sentence)
        raise SystemExit(FAILED) from None
