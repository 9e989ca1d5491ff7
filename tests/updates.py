"""Updates of a job, for tests that only care about some of the fields."""

from __future__ import annotations

from typing import Any

from wsi.records.notices import JobUpdate


def any_update(**changes: Any) -> JobUpdate:
    values: dict[str, Any] = {
        "job_id": "j",
        "tenant": "t",
        "slide_id": "s",
        "status": "RUNNING",
        "version": 0,
        "progress_seq": 0,
        "progress": 0.0,
        "tiles_planned": 0,
        "tiles_inferred": 0,
        "tiles_unreadable": 0,
        "tiles_per_second": None,
        "eta_seconds": None,
        "reason": None,
    }
    return JobUpdate(**{**values, **changes})
