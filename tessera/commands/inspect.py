"""`tessera inspect`: what inspection finds out about a slide, and what it reads for that."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tessera.commands.options import FocalPlane, OpticalPath, Picture
from tessera.local_run.inputs import expand, get_only_slide
from tessera.local_run.outcomes import REJECTED
from tessera.local_run.reporting import report_found
from tessera.progress import complain, open_copy_bar, with_options
from tessera.terminal import escape_text, print_json
from wsi.errors import RejectReason, SlideRejected, SourceError
from wsi.records.slides import Choice

if TYPE_CHECKING:
    from tessera.local_run.inputs import SlideInput
    from tessera.local_run.sources import Sources
    from wsi.records.slides import Inspection

_WITHOUT_SCALE = frozenset({RejectReason.NO_MPP, RejectReason.ABSURD_MPP, RejectReason.MPP_CONFLICT})


def inspect(
    slide: Annotated[str, typer.Argument(metavar="SLIDE", help="A slide, a folder of one DICOM series, an s3:// URL.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    mpp: Annotated[
        float | None, typer.Option(min=0.01, max=100, help="Microns a pixel of the slide; wins over the file.")
    ] = None,
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
) -> None:
    """Print what inspection finds: format, size, levels, scale and tissue, and what was read for it. A slide without a
    scale is readable: mpp_x and tissue_um2 are null then."""
    from tessera.local_run.sources import Sources

    sources = Sources()
    found = expand([slide], mpp=mpp, choice=Choice.of(optical_path, focal_plane, picture), remote=sources)
    report_found(found)
    chosen = get_only_slide(slide, found)
    try:
        facts = _facts(chosen, sources)
    except SlideRejected as error:
        complain(f"rejected ({error.reason.value}): {with_options(error.sentence)}")
        raise typer.Exit(REJECTED) from None
    except SourceError as error:
        complain(f"rejected ({error.code}): {error.sentence}")
        raise typer.Exit(REJECTED) from None
    if as_json:
        print_json(facts)
    else:
        Console().print(_table(facts))


def _facts(slide: SlideInput, sources: Sources) -> dict[str, Any]:
    from wsi.inspection.examination import examine
    from wsi.slide.files.scratch import ScratchSpace
    from wsi.slide.opening import open_slide
    from wsi.slide.reads import ReadCounter, attach_counter

    reads, began = ReadCounter(), time.monotonic()
    with (
        sources.open(slide) as source,
        open_copy_bar() as on_copy,
        closing(
            open_slide(
                attach_counter(source, reads), mpp=slide.mpp, choice=slide.choice, scratch=ScratchSpace(on_copy=on_copy)
            )
        ) as reader,
    ):
        try:
            inspection, tissue = examine(reader).inspection, True
        except SlideRejected as error:
            if error.reason not in _WITHOUT_SCALE:
                raise
            inspection, tissue = reader.inspection, False
    return {
        **summarise(inspection),
        "tissue_um2": inspection.tissue_um2 if tissue else None,
        "tissue_fraction": inspection.tissue_fraction if tissue else None,
        "read": {
            "requests": reads.requests,
            "bytes": reads.bytes,
            "seconds": round(time.monotonic() - began, 3),
        },
    }


def summarise(inspection: Inspection) -> dict[str, Any]:
    """Return the facts in reading order. The tile size is that of level 0."""
    first = inspection.levels[0]
    return {
        "format": inspection.format,
        "reading_path": inspection.reading_path,
        "path_reason": inspection.path_reason,
        "vendor": inspection.vendor,
        "width": inspection.width,
        "height": inspection.height,
        "tile_width": first.tile_width,
        "tile_height": first.tile_height,
        "levels": [
            {"width": level.width, "height": level.height, "downsample": level.downsample}
            | {"tile_width": level.tile_width, "tile_height": level.tile_height}
            for level in inspection.levels
        ],
        "mpp_x": inspection.mpp_x,
        "mpp_y": inspection.mpp_y,
        "mpp_source": inspection.mpp_source,
        "mpp_conflict": inspection.mpp_conflict,
        "mpp_unread": inspection.mpp_unread,
        "warnings": list(inspection.warnings),
    }


def _table(facts: dict[str, Any]) -> Table:
    drawn = Table(show_header=False, highlight=False)
    drawn.add_column(style="bold")
    drawn.add_column()
    for name, value in facts.items():
        if name == "levels":
            value = "\n".join(
                f"{level['width']:,} x {level['height']:,}  (1/{level['downsample']:.4g})" for level in value
            )
        elif isinstance(value, list):
            value = "\n".join(map(str, value))
        elif name == "read":
            value = f"{value['requests']} requests, {value['bytes']:,} bytes, {value['seconds']} s"
        drawn.add_row(name, escape_text("" if value is None else str(value)))
    return drawn
