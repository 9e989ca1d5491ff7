"""Who plans a job: a function, or a process that has the time and the disk that a large slide needs."""

from __future__ import annotations

from wsi.records.slides import Slide

PLAN = "plan"
HEAVY = "heavy"

#: Bytes of a slide that is read from a copy. A function fetches 75 MB/s: half a minute of its five for so many, two
#: for the 8 GiB that such a slide may have.
COPIED_BYTES = 2 * 1024**3
#: Pixels of the coarsest level, all of which are decoded for the overview at 50 million a second: two thirds of a
#: minute for so many, more than three for a slide of 10 Gpx that has no other level.
COARSEST_PIXELS = 2_000_000_000


def plan_queue(slide: Slide) -> str:
    """The queue of the jobs over `slide`, by what inspection stored. What it does not say makes nothing heavy."""
    found = slide.inspection or {}
    copied = sum(file.size for file in slide.files) if found.get("reading_path") == "scratch" else 0
    coarsest = min((level.get("width", 0) * level.get("height", 0) for level in found.get("levels", ())), default=0)
    return HEAVY if copied > COPIED_BYTES or coarsest > COARSEST_PIXELS else PLAN
