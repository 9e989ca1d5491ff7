"""The job that benchmarks of single functions work on."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from wsi.models.builtin import STAIN_DENSITY
from wsi.records.jobs import Job, JobOptions
from wsi.states import JobState

TENANT, JOB, SLIDE = UUID(int=1), UUID(int=2), UUID(int=3)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_job(state: JobState) -> Job:
    """Return the job, of the built-in model."""
    return Job(
        id=JOB,
        tenant=TENANT,
        slide_id=SLIDE,
        model=STAIN_DENSITY.name,
        model_version=STAIN_DENSITY.version,
        model_digest=STAIN_DENSITY.digest,
        state=state,
        options=JobOptions(),
        identity="benchmark",
        traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01",
        created_by="benchmark",
        created_at=NOW,
        updated_at=NOW,
    )
