"""`tessera restate`: a scale, an image or a name, stated for a slide that an installation has already."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from tessera.api.connection import open_transport
from tessera.api.rest import Api, RemoteSlide
from tessera.api.submission import wait_until_inspected
from tessera.commands.options import ApiKey, FocalPlane, Mpp, OpticalPath, Picture
from tessera.local_run.inputs import UsageError
from tessera.local_run.outcomes import FAILED, INTERRUPTED, OK, REJECTED
from tessera.progress import complain, with_options
from wsi.errors import TesseraError
from wsi.states import SlideState


class Clearable(StrEnum):
    MPP = "mpp"
    OPTICAL_PATH = "optical-path"
    FOCAL_PLANE = "focal-plane"
    PICTURE = "picture"


def restate(
    slide_id: Annotated[str, typer.Argument(metavar="SLIDE_ID", help="The slide's id, as `tessera upload` prints it.")],
    *,
    api: Annotated[str, typer.Option(metavar="URL", envvar="TESSERA_API", help="The installation.")],
    api_key: ApiKey,
    mpp: Mpp = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
    name: Annotated[str | None, typer.Option(help="What lists call the slide. It alone inspects nothing.")] = None,
    clear: Annotated[
        list[Clearable] | None,
        typer.Option(help="Take back what was stated, so that the file's own word holds again. Can be repeated."),
    ] = None,
) -> None:
    """Inspect a slide again with another scale or image, without a new upload. Results of its jobs stay."""
    stated = {
        "mpp": mpp,
        "optical_path": optical_path,
        "focal_plane": focal_plane,
        "picture": picture,
        "name": name,
    }
    fields = make_fields(stated, clear or ())
    try:
        with open_transport(api, api_key) as transport:
            code = _restate(Api(transport), slide_id, fields)
    except TesseraError as error:
        complain(f"{slide_id}: {with_options(error.sentence)}")
        code = FAILED
    except KeyboardInterrupt:
        complain("interrupted: the slide is inspected without this command")
        code = INTERRUPTED
    raise typer.Exit(code)


def make_fields(stated: dict[str, Any], cleared: Sequence[Clearable]) -> dict[str, Any]:
    """Return the request's fields: what is stated, and null for what is taken back. Raises UsageError."""
    given = {field: value for field, value in stated.items() if value is not None}
    taken_back = {one.value.replace("-", "_"): None for one in cleared}
    if both := given.keys() & taken_back.keys():
        option = min(both).replace("_", "-")
        raise UsageError(f"--{option} states a value and --clear {option} takes it back; give one of them")
    if not given and not taken_back:
        raise UsageError("state --mpp, --optical-path, --focal-plane, --picture or --name, or --clear what was stated")
    return given | taken_back


def _restate(api: Api, slide_id: str, fields: dict[str, Any]) -> int:
    """Restate the slide, wait until it is inspected, and return the exit code."""
    slide = api.restate_slide(slide_id, fields)
    if slide.status == SlideState.UPLOADED:
        with Console(stderr=True).status("inspecting the slide again"):
            slide = wait_until_inspected(api, slide_id)
    if slide.status == SlideState.REJECTED:
        complain(f"{slide_id}: rejected ({slide.reason}): {with_options(slide.sentence or '')}")
        return REJECTED
    Console(soft_wrap=True, highlight=False, markup=False).print(
        f"slide {slide_id} {slide.status}{_describe_slide(slide)}"
    )
    return OK


def _describe_slide(slide: RemoteSlide) -> str:
    """Return ": 0.25 µm per pixel, image 2": the scale that holds now, and the choice."""
    scale = (slide.inspection or {}).get("mpp_x")
    facts = [
        f"{scale:.4g} µm per pixel" if scale is not None else None,
        f"optical path {slide.optical_path}" if slide.optical_path is not None else None,
        f"plane of focus {slide.focal_plane}" if slide.focal_plane is not None else None,
        f"image {slide.picture}" if slide.picture is not None else None,
    ]
    said = ", ".join(fact for fact in facts if fact is not None)
    return f": {said}" if said else ""
