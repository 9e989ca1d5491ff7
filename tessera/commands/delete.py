"""`tessera delete` and `tessera hold`: slides and jobs of an installation are erased, or kept from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from tessera.api.connection import open_transport
from tessera.api.rest import Api
from tessera.commands.options import ApiKey
from tessera.local_run.outcomes import FAILED, OK
from tessera.progress import complain
from wsi.errors import TesseraError

ApiUrl = Annotated[str, typer.Option(metavar="URL", envvar="TESSERA_API", help="The installation.")]


def delete(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of slides.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    jobs: Annotated[bool, typer.Option("--jobs", help="They are ids of jobs; their slides stay.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
) -> None:
    """Delete slides with their jobs and results, or jobs alone, for good. What fails keeps no other from it."""
    what = ("job" if jobs else "slide") + ("s" if len(ids) > 1 else "")
    if not yes:
        typer.confirm(f"Delete {len(ids)} {what} for good?", abort=True, err=True)

    def delete_one(api: Api, one: str) -> str:
        (api.delete_job if jobs else api.delete_slide)(one)
        return "deleted"

    raise typer.Exit(_do_each(api, api_key, ids, delete_one))


def hold(
    ids: Annotated[list[str], typer.Argument(metavar="SLIDE_ID…", help="The slides' ids.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    end: Annotated[bool, typer.Option("--end", help="End the hold.")] = False,
) -> None:
    """Begin or end the legal hold of slides, as an admin: nobody can delete them or their jobs under it."""

    def hold_one(api: Api, one: str) -> str:
        api.set_legal_hold(one, held=not end)
        return "may be deleted again" if end else "under legal hold"

    raise typer.Exit(_do_each(api, api_key, ids, hold_one))


def _do_each(url: str, key: str, ids: list[str], act: Callable[[Api, str], str]) -> int:
    """Call `act` for each id, print what it returns, and return the exit code."""
    code = OK
    with open_transport(url, key) as transport:
        for one in ids:
            try:
                said = act(Api(transport), one)
            except TesseraError as error:
                complain(f"{one}: {error.sentence}")
                code = FAILED
            else:
                Console(soft_wrap=True, highlight=False, markup=False).print(f"{one} {said}")
    return code
