"""The one slide that a caller names, found as the commands find it."""

from __future__ import annotations

import os
from pathlib import Path

from tessera.local_run.inputs import SlideInput, expand, get_only_slide
from tessera.local_run.reporting import report_found
from tessera.local_run.sources import Sources
from tessera.progress import is_watched
from wsi.records.slides import Choice

SlidePath = str | os.PathLike[str]  #: a file, a folder of one DICOM series, or an s3:// URL


def find_slide(
    path: SlidePath,
    sources: Sources | None,
    *,
    mpp: float | None,
    choice: Choice | None,
    skip: Path | None = None,
    shown: bool,
) -> SlideInput:
    """Return the slide that `path` names; with `shown`, notes about it go to stderr. Without `sources` s3:// is
    refused. Raises UsageError where there is none, or more than one."""
    named = os.fspath(path)
    found = expand([named], mpp=None if mpp is None else float(mpp), choice=choice, skip=skip, remote=sources)
    if shown:
        report_found(found)
    return get_only_slide(named, found)


def shows_progress(progress: bool | None) -> bool:
    """Return whether to draw bars: as the caller says, and else on a terminal and in a notebook."""
    return is_watched() if progress is None else progress
