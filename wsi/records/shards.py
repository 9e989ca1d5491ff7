"""A shard: a spatially compact block of a job's tiles, leased by one worker at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from wsi.records.jobs import Job
from wsi.states import ShardState


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    job_id: UUID
    index: int
    state: ShardState
    tiles: int
    attempt: int = 0
    failures: int = 0  #: in-process failures; spot reclaims do not count. Poison at 3
    silences: int = 0  #: leases that ran out in a row without a new checkpoint. Poison at 6
    lease_owner: str | None = None
    lease_until: datetime | None = None
    checkpoint_key: str | None = None
    result_key: str | None = None
    tiles_done: int = 0  #: inferred + unreadable so far, as the last checkpoint or the commit says
    tiles_unreadable: int = 0
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """The right to commit a shard. The attempt number is the fence: a later lease makes this one void."""

    job: Job  #: as it stood when the lease was taken
    index: int
    attempt: int
    tiles: int
    checkpoint_key: str | None  #: of the furthest checkpoint of any attempt


class LeaseRefusal(StrEnum):
    HELD = "held"  #: somebody else holds it: leave the message, it comes back
    SETTLED = "settled"  #: the shard or its job is finished: delete the message


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardCount:
    """Counts of one shard at its commit. inferred + unreadable = the shard's tiles."""

    inferred: int
    unreadable: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardOutput:
    """A finished shard, for stitching."""

    index: int
    result_key: str
    tiles: int
