"""`tessera upload`: slides into an installation, without a job yet."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from client.api import Api, Slide
from client.batch import run_batch
from client.commands.asking import transport_to
from client.commands.options import ApiKey, Deidentify, FocalPlane, Mpp, OpticalPath, Picture
from client.inputs import SlideInput, UsageError, expand
from client.outcomes import INTERRUPTED, SlideOutcome, exit_code, table
from client.progress import complain, report, report_found
from client.removed import in_words
from client.submission import keep_slide
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
    """Uploads slides, waits until they are inspected, and prints the id of each: what a de-identified slide is called
    by from then on."""
    found = expand(slides, mpp=mpp, choice=Choice.of(optical_path, focal_plane, picture))
    report_found(found)
    if len(found.slides) > 1 and resume:
        raise UsageError("--resume is for one slide")
    transport = transport_to(api, api_key)

    def send(slide: SlideInput) -> SlideOutcome:
        def tell(ready: Slide) -> None:
            said = f": {in_words(Removed.from_json(ready.removed))}" if ready.removed is not None else ""
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
    Console().print(table(outcomes, found))
    raise typer.Exit(exit_code(outcomes))
