"""Models that this worker's device can not hold, so that it does not take their shards again."""

from __future__ import annotations

from uuid import UUID

from wsi.records.jobs import Job


class Refusals:
    """For the process's life: its device will not grow. Written and read by any thread."""

    def __init__(self) -> None:
        self._jobs: set[UUID] = set()
        self._models: set[str] = set()

    def add(self, job: Job) -> None:
        self._models.add(job.model_digest)
        self._jobs.add(job.id)

    def of_message(self, job_id: UUID) -> bool:
        """Before a lease: all that a message tells is its job."""
        return job_id in self._jobs

    def of_lease(self, job: Job) -> bool:
        """True: a job of a refused model, which is known by its messages from now on."""
        if job.model_digest in self._models:
            self._jobs.add(job.id)
        return job.id in self._jobs
