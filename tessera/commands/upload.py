"""`tessera upload`: slides into an installation, without a job yet."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from tessera.api.connection import make_transport
from tessera.api.rest import Api, RemoteSlide
from tessera.api.submission import keep_slide
from tessera.commands.options import ApiKey, Deidentify, FocalPlane, Mpp, OpticalPath, Picture
from tessera.local_run.batch import run_batch
from tessera.local_run.deidentification_report import describe_removed
from tessera.local_run.inputs import SlideInput, UsageError, expand
from tessera.local_run.outcomes import INTERRUPTED, SlideOutcome, choose_exit_code, make_table
from tessera.local_run.reporting import report, report_found
from tessera.progress import complain
from wsi.records.slides import Choice, Removed


def upload(
    slides: Annotated[list[str], typer.Argument(metavar="SLIDE…", help="Slides, or folders of them.")],
    *,
    api: Annotated[str, typer.Option(metavar="URL", envvar="TESSERA_API", help="The installation.")],
    api_key: ApiKey,
    mpp: Mpp = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
    deidentify: Deidentify = False,
    resume: Annotated[
        str | None, typer.Option(metavar="SLIDE_ID", help="Go on with an upload that broke off. One slide only.")
    ] = None,
) -> None:
    """Upload slides, wait until they are inspected, and print the id of each: what a de-identified slide is called by
    from then on."""
    found = expand(slides, mpp=mpp, choice=Choice.of(optical_path, focal_plane, picture))
    report_found(found)
    if len(found.slides) > 1 and resume:
        raise UsageError("--resume is for one slide")
    transport = make_transport(api, api_key)

    def send(slide: SlideInput) -> SlideOutcome:
        def tell(ready: RemoteSlide) -> None:
            said = f": {describe_removed(Removed.from_json(ready.removed))}" if ready.removed is not None else ""
            Console(soft_wrap=True, highlight=False, markup=False).print(f"slide {ready.slide_id} {slide.name}{said}")

        return keep_slide(Api(transport), slide, deidentify=deidentify, resume=resume, on_ready=tell)

    try:
        outcomes = run_batch(
            found.slides, send, folder_of=lambda slide: None, on_outcome=report, left_out=found.left_out
        )
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        transport.close()
    Console().print(make_table(outcomes, found))
    raise typer.Exit(choose_exit_code(outcomes))
