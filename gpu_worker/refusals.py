"""Remembers models that this worker's device cannot hold, and jobs whose plans it cannot read, so that it does not take
their shards again."""

from __future__ import annotations

from uuid import UUID

from wsi.records.jobs import Job


class Refusals:
    """The refused models and jobs, until the process ends: its device will not grow, and its code stays. For any
    thread."""

    def __init__(self) -> None:
        self._jobs: set[UUID] = set()
        self._models: set[str] = set()

    def add(self, job: Job) -> None:
        """Refuse the job's model from now on."""
        self._models.add(job.model_digest)
        self._jobs.add(job.id)

    def add_job(self, job: Job) -> None:
        """Refuse this job from now on, and no other of its model."""
        self._jobs.add(job.id)

    def has_job(self, job_id: UUID) -> bool:
        """Return whether a message's job, which is all that is known before the lease, is refused or known to be of a
        refused model."""
        return job_id in self._jobs

    def refuses(self, job: Job) -> bool:
        """Return whether a leased job is of a refused model; if so, `has_job` knows it from now on."""
        if job.model_digest in self._models:
            self._jobs.add(job.id)
        return job.id in self._jobs
