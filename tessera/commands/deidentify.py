"""`tessera deidentify`: a clean copy of a slide on this disk, without any service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tessera.commands.options import FocalPlane, OpticalPath, Picture
from tessera.local_run.inputs import UsageError, expand, get_only_slide
from tessera.local_run.outcomes import INTERRUPTED, REJECTED
from tessera.local_run.reporting import report_found
from tessera.progress import complain, make_bytes_bar, with_options
from wsi.errors import SlideRejected, SourceError
from wsi.records.slides import Choice

if TYPE_CHECKING:
    from tessera.local_run.inputs import SlideInput
    from tessera.local_run.sources import Sources
    from wsi.slide.deidentification.clean_slide import CleanSlide

_SALT = 16  #: bytes; kept nowhere, so that nobody can say which UID came from which


def deidentify(
    slide: Annotated[str, typer.Argument(metavar="SLIDE", help="A slide, a folder of one DICOM series, an s3:// URL.")],
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH", help="The new file, or folder of a DICOM series or MIRAX. It must not be there yet."
        ),
    ],
    optical_path: OpticalPath = None,
    focal_plane: FocalPlane = None,
    picture: Picture = None,
) -> None:
    """Write a copy without label, macro and identifiers, and say how much was removed. The slide itself stays."""
    from tessera.local_run.sources import Sources

    sources = Sources()
    found = expand([slide], choice=Choice.of(optical_path, focal_plane, picture), remote=sources)
    report_found(found)
    chosen = get_only_slide(slide, found)
    if os.path.lexists(out):
        raise UsageError(f"{out} is there already; name a path that is not")
    try:
        with _whole_or_nothing(out) as place:
            _write(chosen, sources, place)
    except (SlideRejected, SourceError) as error:
        reason = error.reason.value if isinstance(error, SlideRejected) else error.code
        complain(f"rejected ({reason}): {with_options(error.sentence)}")
        raise typer.Exit(REJECTED) from None
    except KeyboardInterrupt:
        complain("interrupted: nothing was written")
        raise typer.Exit(INTERRUPTED) from None


def _write(slide: SlideInput, sources: Sources, place: Path) -> None:
    from tessera.local_run.deidentification_report import describe_removed
    from wsi.slide.deidentification.cleaning import clean

    with sources.open(slide) as source:
        cleaned = clean(source, choice=slide.choice, salt=os.urandom(_SALT))
        in_folder = cleaned.files[0].name.endswith((".dcm", ".mrxs"))
        if in_folder:
            place.mkdir()
        _write_files(cleaned, place, in_folder=in_folder)
    Console(soft_wrap=True, highlight=False).print(describe_removed(cleaned.removed))


def _write_files(cleaned: CleanSlide, place: Path, *, in_folder: bool) -> None:
    from wsi.slide.deidentification.overwrites import split_into_parts

    with make_bytes_bar() as bar:
        task = bar.add_task("writing", total=sum(file.source.size for file in cleaned.files))
        for file in cleaned.files:
            path = place / file.name if in_folder else place
            if in_folder:
                path.parent.mkdir(exist_ok=True)
            with path.open("xb") as target:
                for data in file.source.read_many(list(split_into_parts(file.source.size))):
                    target.write(data)
                    bar.advance(task, len(data))


@contextmanager
def _whole_or_nothing(path: Path) -> Iterator[Path]:
    """Yield a path next to `path` that is renamed to it at the end, and removed after an error. Raises UsageError where
    nothing can be written."""
    place = path.with_name(f".{path.name}.partial")
    try:
        yield place
        place.rename(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        if place.is_dir():
            rmtree(place)
        else:
            place.unlink(missing_ok=True)
