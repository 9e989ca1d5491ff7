"""`tessera admin`: commands for operators of an installation."""

from __future__ import annotations

import typer

from tessera.commands.cost import cost

app = typer.Typer(name="admin", no_args_is_help=True)

app.command()(cost)


@app.callback(help="For operators of an installation on AWS.")
def admin() -> None:
    """Group the commands for operators. Without a callback, Typer would make a single command the group itself."""
