"""Vital signs of an installation, for its operators: counts and seconds over all tenants, and nothing about any
person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wsi.records.jobs import Priority
from wsi.states import JobState


@dataclass(frozen=True, kw_only=True, slots=True)
class Vitals:
    """Counts and times of jobs. `live` and `finished` name every state, with 0 too. "Lately" is the requested time."""

    live: Mapping[JobState, int]
    waiting: int  #: RUNNING jobs of which no worker holds a shard
    stalled: int  #: live jobs that nothing has moved for too long
    outbox_seconds: float  #: age of the oldest row that has not been sent; 0 without one
    line_seconds: Mapping[Priority, float]  #: how long a shard has waited to be admitted; 0 without one
    finished: Mapping[JobState, int]  #: jobs that ended lately
    tiles: int  #: of these jobs, tiles with a result
    first_lease_seconds: tuple[float, ...]  #: of jobs whose first shard was taken lately: since they were asked for
    result_seconds: tuple[float, ...]  #: of jobs that succeeded lately: since they were asked for
    dead_letters: int = 0  #: that wait for an operator
