"""The state machines of slides, jobs, shards and registrations, as data.

Every move is carried out as a compare-and-set in SQL (`WHERE state = ANY(sources(...))`); these tables say
which moves exist. Zero rows changed means that somebody else won, not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar


class SlideState(StrEnum):
    UPLOADING = "UPLOADING"
    UPLOADED = "UPLOADED"
    READY = "READY"
    REJECTED = "REJECTED"
    ARCHIVED = "ARCHIVED"
    RESTORING = "RESTORING"
    DELETED = "DELETED"


class JobState(StrEnum):
    QUEUED = "QUEUED"
    PLANNING = "PLANNING"
    RUNNING = "RUNNING"
    STITCHING = "STITCHING"
    COMPLETED = "COMPLETED"
    COMPLETED_WITH_UNREADABLE_TILES = "COMPLETED_WITH_UNREADABLE_TILES"
    NO_TISSUE = "NO_TISSUE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        return not JOB_MOVES[self]

    @property
    def is_success(self) -> bool:
        return self in (JobState.COMPLETED, JobState.COMPLETED_WITH_UNREADABLE_TILES, JobState.NO_TISSUE)


class ShardState(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class RegistrationState(StrEnum):
    """The state of a model package that is being registered."""

    UPLOADING = "UPLOADING"
    CHECKING = "CHECKING"  #: a worker tries it, or will
    READY = "READY"  #: a model version, which takes jobs
    REJECTED = "REJECTED"


_Move = TypeVar("_Move", bound=StrEnum)

SLIDE_MOVES: Mapping[SlideState, frozenset[SlideState]] = MappingProxyType(
    {
        SlideState.UPLOADING: frozenset({SlideState.UPLOADED, SlideState.DELETED}),
        SlideState.UPLOADED: frozenset({SlideState.READY, SlideState.REJECTED, SlideState.DELETED}),
        # READY, REJECTED -> UPLOADED: another scale or image was stated, and inspection looks at it again.
        SlideState.READY: frozenset({SlideState.UPLOADED, SlideState.ARCHIVED, SlideState.DELETED}),
        SlideState.REJECTED: frozenset({SlideState.UPLOADED, SlideState.DELETED}),
        SlideState.ARCHIVED: frozenset({SlideState.RESTORING, SlideState.DELETED}),
        SlideState.RESTORING: frozenset({SlideState.READY, SlideState.DELETED}),
        SlideState.DELETED: frozenset(),
    }
)

JOB_MOVES: Mapping[JobState, frozenset[JobState]] = MappingProxyType(
    {
        JobState.QUEUED: frozenset({JobState.PLANNING, JobState.FAILED, JobState.CANCELLED}),
        # PLANNING -> STITCHING: a retry whose shards were all finished by the job that it retries.
        JobState.PLANNING: frozenset(
            {JobState.RUNNING, JobState.STITCHING, JobState.NO_TISSUE, JobState.FAILED, JobState.CANCELLED}
        ),
        JobState.RUNNING: frozenset({JobState.STITCHING, JobState.FAILED, JobState.CANCELLED}),
        JobState.STITCHING: frozenset(
            {JobState.COMPLETED, JobState.COMPLETED_WITH_UNREADABLE_TILES, JobState.FAILED, JobState.CANCELLED}
        ),
        JobState.COMPLETED: frozenset(),
        JobState.COMPLETED_WITH_UNREADABLE_TILES: frozenset(),
        JobState.NO_TISSUE: frozenset(),
        JobState.FAILED: frozenset(),
        JobState.CANCELLED: frozenset(),
    }
)

SHARD_MOVES: Mapping[ShardState, frozenset[ShardState]] = MappingProxyType(
    {
        # QUEUED -> DONE: taken over from the job that is retried.
        ShardState.QUEUED: frozenset({ShardState.RUNNING, ShardState.DONE, ShardState.CANCELLED}),
        ShardState.RUNNING: frozenset({ShardState.QUEUED, ShardState.DONE, ShardState.FAILED, ShardState.CANCELLED}),
        ShardState.DONE: frozenset(),
        ShardState.FAILED: frozenset(),
        ShardState.CANCELLED: frozenset(),
    }
)


REGISTRATION_MOVES: Mapping[RegistrationState, frozenset[RegistrationState]] = MappingProxyType(
    {
        # UPLOADING -> REJECTED: nobody finished the upload. To UPLOADING it comes by another package alone, which
        # takes the place of one that is not finished or was refused.
        RegistrationState.UPLOADING: frozenset(
            {RegistrationState.UPLOADING, RegistrationState.CHECKING, RegistrationState.REJECTED}
        ),
        RegistrationState.CHECKING: frozenset({RegistrationState.READY, RegistrationState.REJECTED}),
        RegistrationState.READY: frozenset(),
        RegistrationState.REJECTED: frozenset({RegistrationState.UPLOADING}),
    }
)


def select_sources(moves: Mapping[_Move, frozenset[_Move]], target: _Move) -> tuple[_Move, ...]:
    """Return the states from which `target` may be reached: the guard of the compare-and-set."""
    return tuple(state for state, targets in moves.items() if target in targets)


LIVE_JOB_STATES: tuple[JobState, ...] = tuple(state for state in JobState if JOB_MOVES[state])
