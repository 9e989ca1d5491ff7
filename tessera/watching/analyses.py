"""The analysis of a complete slide by a watch: a run on this machine, or a job of an installation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from tessera.api.rest import Api, RemoteJob
from tessera.api.submission import Asked, collect, start_job
from tessera.local_run.inputs.slide_input import SlideInput
from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.watching.journal import JournalEntry
from wsi.errors import Conflict, NotFound
from wsi.states import JobState

#: Of Idempotency-Keys.
_KEYS: Final = UUID("6c1d0f3e-5b8a-4c0e-9a57-2f7b1a8f4d10")

Record = Callable[[JournalEntry], None]


def hash_task(**stated: Any) -> str:
    """Return a digest of everything but the slide that the results depend on."""
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Local:
    """`tessera run`, slide by slide."""

    task: str
    analyse: Callable[[SlideInput], SlideOutcome]
    collects: bool = False

    def begin(self, slide: SlideInput, entry: JournalEntry, record: Record) -> SlideOutcome:
        """Begin the run. Results from before an interruption are in the slide's folder and are used again."""
        return self.analyse(slide)

    def collect(self, entry: JournalEntry) -> SlideOutcome:
        raise AssertionError("a run on this machine ends with its outcome")


@dataclass(frozen=True, kw_only=True, slots=True)
class Submitted:
    """`tessera submit`, slide by slide; jobs run while the next slide is uploaded."""

    task: str
    api: Api
    asked: Asked
    out: Path | None  #: where results are downloaded to; None: they stay in the installation

    @property
    def collects(self) -> bool:
        return self.out is not None

    def begin(self, slide: SlideInput, entry: JournalEntry, record: Record) -> SlideOutcome:
        """Begin the job. Its key follows from the slide's id, which is recorded before the first byte is sent: a watch
        that was killed resumes the upload and makes no second job."""
        if entry.slide_id is None:
            job = self._start(slide, entry, record)
        else:
            try:
                job = self._start(slide, entry, record)
            except (Conflict, NotFound):  # that upload was aborted, expired or deleted
                job = self._start(slide, replace(entry, slide_id=None), record)
        if isinstance(job, SlideOutcome):
            return job
        return SlideOutcome(name=slide.name, outcome=Outcome.SUBMITTED)

    def _start(self, slide: SlideInput, entry: JournalEntry, record: Record) -> RemoteJob | SlideOutcome:
        known = entry

        def record_slide_id(slide_id: str) -> None:
            nonlocal known
            known = replace(entry, slide_id=slide_id)
            record(known)

        asked = replace(
            self.asked,
            resume=entry.slide_id,
            key_of=lambda slide_id: str(uuid5(_KEYS, f"{slide_id} {self.task} {entry.attempt}")),
        )
        job = start_job(self.api, slide, asked, on_slide=record_slide_id)
        if isinstance(job, RemoteJob):
            record(replace(known, job_id=job.job_id))
        return job

    def collect(self, entry: JournalEntry) -> SlideOutcome:
        job = self.api.get_job(entry.job_id or "")
        if not JobState(job.status).is_final:
            return SlideOutcome(name=entry.name, outcome=Outcome.SUBMITTED)
        return collect(self.api, job, entry.name, self.out and self.out / entry.name, 0.0)
