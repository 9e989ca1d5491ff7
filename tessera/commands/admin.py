"""`tessera admin`: commands for the admins of a tenant and for operators of an installation."""

from __future__ import annotations

import typer

from tessera.commands import audit
from tessera.commands.administration import keys, models, people, quotas, retention, sources, tenants
from tessera.commands.administration.dead_letters import list_dead_letters, redrive
from tessera.commands.cost import cost
from tessera.commands.trace import trace

app = typer.Typer(name="admin", no_args_is_help=True)

for noun in (tenants, people, keys, models, quotas, sources, retention, audit):
    app.add_typer(noun.app)
app.command()(cost)
app.command()(trace)
app.command("dead-letters")(list_dead_letters)
app.command()(redrive)


@app.callback(help="For admins of a tenant, and for operators of an installation.")
def admin() -> None:
    """Group the commands of administration."""
