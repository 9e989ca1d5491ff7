"""The choice of the queue that plans a job: that of a function, or of a process with the time and the disk that a large
slide needs.

A plan begins with what inspection stored, and then reads no byte of the slide, however large it is. The planner
examines the slide again only for a job that states microns per pixel that inspection did not use.
"""

from __future__ import annotations

from typing import Any

from wsi.records.jobs import JobOptions
from wsi.records.slides import Slide
from wsi.slide.mpp import OVERRIDE

PLAN = "plan"
HEAVY = "heavy"

#: Bytes of a slide that is read from a copy. A function fetches 75 MB/s: half a minute of its five for so many, two
#: for the 8 GiB that such a slide may have.
COPIED_BYTES = 2 * 1024**3
#: Pixels of the coarsest level, all of which are decoded for the overview at 50 million a second: two thirds of a
#: minute for so many, more than three for a slide of 10 Gpx that has no other level.
COARSEST_PIXELS = 2_000_000_000


def choose_plan_queue(slide: Slide, options: JobOptions) -> str:
    """Return the queue of a job over `slide`, by what inspection stored. What inspection does not state makes no job
    heavy."""
    found = slide.inspection or {}
    if _was_examined_at(found, options.mpp if options.mpp is not None else slide.mpp):
        return PLAN
    copied = sum(file.size for file in slide.files) if found.get("reading_path") == "scratch" else 0
    coarsest = min((level.get("width", 0) * level.get("height", 0) for level in found.get("levels", ())), default=0)
    return HEAVY if copied > COPIED_BYTES or coarsest > COARSEST_PIXELS else PLAN


def _was_examined_at(found: dict[str, Any], mpp: float | None) -> bool:
    """Return whether inspection examined the slide at this scale (None: what the file says). What it stored is used for
    no other."""
    stated = found.get("mpp_source") == OVERRIDE
    return not stated if mpp is None else stated and found.get("mpp_x") == found.get("mpp_y") == mpp
