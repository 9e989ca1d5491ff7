"""`tessera admin`: commands for operators of an installation."""

from __future__ import annotations

import typer

from tessera.commands import audit
from tessera.commands.cost import cost
from tessera.commands.trace import trace

app = typer.Typer(name="admin", no_args_is_help=True)

app.command()(cost)
app.command()(trace)
app.add_typer(audit.app)


@app.callback(help="For operators of an installation.")
def admin() -> None:
    """Group the commands for operators."""
