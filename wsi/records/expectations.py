"""The expected start and end of a job, and what they are estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

#: More are not counted, so that the answer takes a few ms however long the queue is.
MOST_JOBS_AHEAD: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    """The queue as one job finds it: counts over all tenants, and nothing about any of them."""

    jobs_ahead: int = (
        0  #: live jobs that workers serve first, of a higher priority or earlier; MOST_JOBS_AHEAD: or more
    )
    tiles_ahead: int = 0  #: that these still have to be computed; those of jobs without a plan are not known
    shards_ahead: int = 0
    workers: int = 0  #: that hold a shard, or finished a job a moment ago
    waiting_since: datetime | None = None  #: of those jobs and this one, when the first came that no worker has begun
    #: Of one worker with this job's model, by the shards that finished last, or else by the model's own test. None:
    #: nobody measured it
    tiles_per_second: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerScaling:
    """The rules by which workers come."""

    start_seconds: float  #: from the first shard that waits to the first scored tile, if no worker is up: the median
    slow_start_seconds: float  #: the same where every part is slow
    most: int  #: workers at once
    shards_a_worker: int  #: that wait for each worker that is started


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """An estimate, never a promise: others' urgent jobs come first, and a GPU may not be had."""

    start_at: datetime | None = None  #: of the first tile; None once it began, or if nothing is known
    end_at: datetime | None = None  #: of the job; None once it ended, or if nothing is known
    waiting_for: str | None = None  #: for people; None while it is computed, and once it ended


NOTHING_KNOWN: Final = Expectation()
