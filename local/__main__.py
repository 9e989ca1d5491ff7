"""`python -m local up | down | demo`."""

from __future__ import annotations

import logging
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from local import daemon
from local.options import StackOptions
from local.processes.stack_file import StackFile
from wsi.errors import TesseraError

app = typer.Typer(
    name="local", help="The whole installation on this machine.", no_args_is_help=True, add_completion=False
)

Folder = Annotated[Path, typer.Option(help="Where its data lies.")]
Origins = Annotated[
    list[str] | None,
    typer.Option("--page-origin", help="A page of another server that may use the stack: http://localhost:5173."),
]
WorkerCount = Annotated[int, typer.Option("--workers", min=0, help="How many workers run.")]


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)


@app.command()
def up(folder: Folder = daemon.FOLDER, workers: WorkerCount = 1, page_origin: Origins = None) -> None:
    """Start the stack unless it runs already, and leave it running."""
    try:
        stack, is_new = daemon.start_stack(folder, StackOptions(workers=workers, page_origins=tuple(page_origin or ())))
    except RuntimeError as error:
        _fail(error)
    _console().print("The stack is up." if is_new else "The stack was up already.")
    _tell(stack, folder)


@app.command()
def down(folder: Folder = daemon.FOLDER) -> None:
    """Stop the stack; its data stays."""
    _console().print("The stack is down." if daemon.stop_stack(folder) else "No stack was running.")


@app.command()
def key(
    folder: Folder = daemon.FOLDER,
    admin: Annotated[bool, typer.Option("--admin", help="Of an admin, who may add models and invite people.")] = False,
    operator: Annotated[bool, typer.Option("--operator", help="Of an operator, who administers all tenants.")] = False,
) -> None:
    """Print an API key of the running stack, for scripts."""
    stack = StackFile(folder).read()
    if stack is None:
        _fail(RuntimeError("No stack is running; start one with `make up`."))
    typer.echo(stack["operator_api_key" if operator else "admin_api_key" if admin else "api_key"])


@app.command()
def demo(folder: Folder = daemon.FOLDER) -> None:
    """Run one real slide through the stack, live."""
    from local.demo import run_demo as run  # the client and its transports, which up and down do not need

    for number in (signal.SIGTERM, signal.SIGHUP):  # it stops what it started, as after Ctrl-C
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        completed = run(folder, _console())
    except (RuntimeError, TesseraError) as error:
        _fail(error)
    if not completed:
        raise typer.Exit(1)


@app.command(hidden=True)
def serve(folder: Folder = daemon.FOLDER, workers: WorkerCount = 1, page_origin: Origins = None) -> None:
    """Run the stack in this process until SIGTERM: what `up` starts."""
    try:
        daemon.serve(folder, StackOptions(workers=workers, page_origins=tuple(page_origin or ())))
    except RuntimeError as error:  # the last line of its log, which `up` prints
        logging.getLogger(__name__).exception("The stack did not start.")
        _fail(error)


def _tell(stack: dict[str, Any], folder: Path) -> None:
    console = _console()
    console.print(f"page          {stack['page_url']}")
    console.print(f"API           {stack['api_url']}")
    console.print(f"described at  {stack['openapi_url']}")
    console.print(f"subscriptions {stack['realtime_url']}")
    console.print(f"people        {', '.join(user['email'] for user in stack['users'])}")
    console.print(f"secrets       {folder / 'stack.json'} (passwords and API keys)")
    console.print(f"logs          {stack['logs']}")
    console.print("Try:")
    console.print(f"  export TESSERA_API_KEY=$(.venv/bin/python -m local key{_option(folder)})")
    console.print(f'  curl -H "Authorization: Bearer $TESSERA_API_KEY" {stack["api_url"]}/models')
    console.print(f"  .venv/bin/tessera submit SLIDE --api {stack['api_url']} --model stain-density --watch")


def _option(folder: Path) -> str:
    return "" if folder == daemon.FOLDER else f" --folder {shlex.quote(str(folder))}"


def _fail(error: Exception) -> NoReturn:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"tessera: {error}")
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
