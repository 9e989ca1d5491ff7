"""One model over one slide on this machine: `tessera run` as a function."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from operator import index
from pathlib import Path
from typing import Literal, TypeVar

from tessera.local_run.devices import Devices
from tessera.local_run.given_objects import read_given_objects
from tessera.local_run.inputs import UsageError
from tessera.local_run.local_runs import open_local_runs
from tessera.local_run.regions import read_region
from tessera.local_run.running import choose_models
from tessera.local_run.sources import Sources
from tessera.progress import TilesBar, complain
from tessera.public.inputs import SlidePath, find_slide, shows_progress
from tessera.public.result import RunResult
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ReadLevel
from wsi.records.outline import Frame
from wsi.records.slides import Choice

Value = TypeVar("Value", bound=StrEnum)


def run(
    slide: SlidePath,
    *,
    model: SlidePath,
    out: str | os.PathLike[str] | None = None,
    device: Literal["cpu", "cuda", "cuda:all"] = "cpu",
    mpp: float | None = None,
    region: tuple[int, int, int, int] | None = None,
    region_geojson: str | os.PathLike[str] | None = None,
    region_frame: Literal["full", "qupath"] = "full",
    objects: str | os.PathLike[str] | None = None,
    objects_frame: Literal["full", "qupath"] = "full",
    optical_path: str | None = None,
    focal_plane: int | None = None,
    picture: int | None = None,
    allow_upsampling: bool = False,
    read_level: Literal["finest", "suitable"] | None = None,
    fast: bool = False,
    workers: int | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> RunResult:
    """Run a model over a slide on this machine and return its results. The files are those of `tessera run`, byte for
    byte; a finished run is not computed again, and one that was interrupted resumes.

    `slide` is a file, a folder of one DICOM series, or an s3:// URL; `model` a built-in model or the folder of a
    package. Every other option means what it means to the command:

    - `out`: the folder of the results; `MODEL-results/SLIDE` in the current folder unless stated.
    - `device`: where the model runs; "cuda:all" spreads the slide over all GPUs.
    - `mpp`: microns a pixel of the slide, in place of what the file says.
    - `region`: x, y, width, height in level-0 pixels: only tiles that overlap it are analysed.
    - `region_geojson`, `region_frame`: polygons to analyse in place of the tissue that is found, and what they count
      from.
    - `objects`, `objects_frame`: a file of objects, GeoJSON or GeoParquet, whose boxes are analysed in place of tissue,
      and what they count from.
    - `optical_path`, `focal_plane`, `picture`: which image of a slide that holds several.
    - `allow_upsampling`: accept a slide that is coarser than the model's scale.
    - `read_level`: "finest" reads level 0; "suitable" the coarsest level that is fine enough.
    - `fast`: decode JPEG at half size or less where that is enough; quicker, and not exact.
    - `workers`: decoders of each device. `threads`: of a network on the CPU.
    - `progress`: draw a progress bar; unless stated, on a terminal and in a notebook.

    Raises SlideRejected and other errors of `TesseraError` with one sentence, UsageError for a wrong call, and
    KeyboardInterrupt, after which the same call resumes.
    """
    where, frame = _parse(Devices, "device", device), _parse(Frame, "region_frame", region_frame)
    level = _parse(ReadLevel, "read_level", read_level) if read_level is not None else None
    for name, count in (("workers", workers), ("threads", threads)):
        if count is not None and count < 1:
            raise UsageError(f"{name} is a whole number from 1, not {count}")
    shown, sources = shows_progress(progress), Sources()
    found = find_slide(
        slide,
        sources,
        mpp=mpp,
        choice=Choice.of(optical_path, focal_plane, picture),
        skip=Path(out) if out is not None else None,
        shown=shown,
    )
    named = os.fspath(model)
    folder = Path(out) if out is not None else Path(f"{Path(named).name}-results") / found.name
    outline = (
        read_region(Path(region_geojson), frame, on_note=complain if shown else lambda note: None)
        if region_geojson is not None
        else None
    )
    given = (
        read_given_objects(
            Path(objects),
            _parse(Frame, "objects_frame", objects_frame),
            on_note=complain if shown else lambda note: None,
        )
        if objects is not None
        else None
    )
    options = JobOptions(
        allow_upsampling=allow_upsampling,
        read_level=level,
        fast=fast,
        outline=outline,
        objects=given.as_option() if given is not None else None,
    )
    (chosen,) = choose_models([named], where.kind, threads)
    with (
        open_local_runs(
            [chosen], sources, options, folder, device=where.value, workers=workers, objects=given
        ) as local,
        TilesBar(shown=shown) as bar,
    ):
        local.analyse(replace(found, region=_check_region(region)), chosen, folder, bar)
    return RunResult(folder)


def _parse(kind: type[Value], name: str, stated: str) -> Value:
    """Return the value that an option names. Raises UsageError where it has none of that name."""
    try:
        return kind(stated)
    except ValueError as error:
        raise UsageError(f"{name} is one of {', '.join(kind)}, not {stated}") from error


def _check_region(stated: tuple[int, int, int, int] | None) -> tuple[int, int, int, int] | None:
    """Return plain whole numbers, since they are part of the result's identity. Raises UsageError."""
    if stated is None:
        return None
    try:
        x, y, width, height = map(index, stated)
    except (TypeError, ValueError) as error:
        raise UsageError(f"region is x, y, width, height in whole level-0 pixels, not {stated}") from error
    if width <= 0 or height <= 0:
        raise UsageError(f"region needs a width and a height above 0, not {stated}")
    return x, y, width, height
