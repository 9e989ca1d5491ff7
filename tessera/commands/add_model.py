"""`tessera models add`, `list` and `default`: models of an installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tessera.api import model_adding
from tessera.api.connection import open_transport
from tessera.api.rest import Api, RemoteModelVersion
from tessera.commands.options import ApiKey
from tessera.local_run.outcomes import FAILED, INTERRUPTED
from tessera.progress import complain, make_bytes_bar
from tessera.terminal import escape_text
from wsi.states import RegistrationState

OWNERS = {"tenant": "yours", "installation": "of the installation"}

Url = Annotated[str, typer.Option("--api", metavar="URL", envvar="TESSERA_API", help="The installation.")]


def add(
    package: Annotated[Path, typer.Argument(metavar="DIR|ZIP", help="A model package.", exists=True)],
    *,
    api: Url,
    api_key: ApiKey,
    name: Annotated[str | None, typer.Option(help="Of the model, in place of the folder's.")] = None,
    version: Annotated[
        str | None, typer.Option(help="Of the model; else it is made of the package's own bytes.")
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Jobs that name only the model take this version from now on.")
    ] = False,
) -> None:
    """Add a model to an installation: send the package, have a worker load, check and measure it, and wait for what it
    says. The model is your tenant's: no other sees it. Only an admin's key may. Exit code 4 when the model is refused.
    Run it again after a break: it resumes."""
    try:
        with open_transport(api, api_key) as transport:
            with model_adding.open_package(package) as files:
                told = model_adding.hash_files(files)
                name = name or model_adding.name_model(package)
                version = version or model_adding.derive_version(told)
                with make_bytes_bar() as bar:
                    task = bar.add_task(escape_text(name), total=sum(file.size for file in told))
                    added = model_adding.add(
                        Api(transport),
                        files,
                        told,
                        name,
                        version,
                        becomes_default=default,
                        on_progress=lambda size: bar.advance(task, size),
                    )
            with Console(stderr=True).status(f"A worker tries {escape_text(name)}; it may have to start first …"):
                ready = model_adding.wait_until_checked(Api(transport), added, becomes_default=default)
            _tell(ready)
    except KeyboardInterrupt:
        complain("interrupted; run the command again, and it goes on where it is")
        raise typer.Exit(INTERRUPTED) from None


def list_all(*, api: Url, api_key: ApiKey) -> None:
    """List the models that take your jobs: yours, which no other tenant sees, and those of the installation."""
    with open_transport(api, api_key) as transport:
        models = Api(transport).list_models()
    drawn = Table("model", "version", "default", "owner")
    for model in models:
        owner = OWNERS.get(model.owner or "", "")
        drawn.add_row(escape_text(model.name), escape_text(model.version), "yes" if model.is_default else "", owner)
    Console().print(drawn)


def default(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the model.")],
    version: Annotated[str, typer.Argument(metavar="VERSION", help="That jobs take which name only the model.")],
    *,
    api: Url,
    api_key: ApiKey,
) -> None:
    """Choose the version of your model that a job takes when it names only the model. A newer one never takes its place
    by itself. The installation's models have the default that its operator chose."""
    with open_transport(api, api_key) as transport:
        Api(transport).choose_default(name, version)
    Console(soft_wrap=True, highlight=False, markup=False).print(f"jobs of {name} take version {version}")


def _tell(version: RemoteModelVersion) -> None:
    if version.status == RegistrationState.REJECTED:
        complain(f"{version.name} {version.version}: REJECTED ({version.reason}): {version.sentence}")
        raise typer.Exit(FAILED)
    drawn = Table(show_header=False, highlight=False)
    drawn.add_column(style="bold")
    drawn.add_column(overflow="fold")
    measured = version.measured or {}
    for name, value in {**_standing(version), **_figures(measured)}.items():
        drawn.add_row(name, escape_text(value))
    Console().print(drawn)
    for doubt in measured.get("doubts", ()):
        complain(f"perhaps not meant: {doubt}")


def _standing(version: RemoteModelVersion) -> dict[str, str]:
    taken = "jobs that name only the model take it" if version.is_default else "`tessera models default` chooses it"
    return {
        "model": version.name,
        "version": f"{version.version}, {version.status}",
        "owner": OWNERS.get(version.owner or "", ""),
        "default": f"{'yes' if version.is_default else 'no'}: {taken}",
        "package": version.digest or "",
    }


def _figures(measured: dict[str, Any]) -> dict[str, str]:
    if not measured:
        return {}
    of_device = measured.get("device_bytes")
    gpu = f", {of_device / 1e9:.1f} GB of the device" if of_device else ""
    return {
        "device": measured["device"],
        "tiles/s": f"{measured['tiles_per_second']:,.1f} (model and copies, no reading)",
        "loaded in": f"{measured['load_seconds']:.1f} s",
        "memory": f"{measured['memory_bytes'] / 1e9:.1f} GB{gpu}",
        "golden tiles": "reproduced" if measured["golden"] else "none: `tessera models golden` adds some",
    }
