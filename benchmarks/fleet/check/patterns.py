"""Patterns of arrivals for the embedded stack, and what became of the slides of one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

import psycopg

from adapters.settings.database_roles import SYSTEM_ROLE
from benchmarks.fleet.check.timed_stack import TimedCall, TimedStack
from local.options import DATABASE
from tessera.api.rest import Api
from tessera.api.transport import Transport
from wsi.states import JobState, SlideState

MODEL = "stain-density"
LOOK_SECONDS = 0.2  #: between two looks of a client at its slide
JOB_LOOK_SECONDS = 1.0  #: at its job, whose end the database tells
MOST_SECONDS = 240.0  #: that a client waits


@dataclass(frozen=True, slots=True)
class ClientTimes:
    """The times of the client of one slide, in s since the epoch."""

    job: str
    slide: str
    planned: float
    registered: float  #: the request's end
    submitted: float  #: likewise


@dataclass(frozen=True, slots=True)
class MeasuredShard:
    """The times of a shard in the database."""

    job: str
    owner: str
    tiles: int
    leased: float
    committed: float


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredRun:
    """One run of a pattern."""

    began: float
    clients: Sequence[ClientTimes]
    shards: Sequence[MeasuredShard]
    ends: Sequence[float]  #: of each client's job, in the order of `clients`
    calls: Sequence[TimedCall]
    load: float  #: of the machine, in the last minute of the run

    @property
    def seconds(self) -> list[float]:
        """The time from registration to results of each slide, sorted."""
        return sorted(end - client.registered for end, client in zip(self.ends, self.clients, strict=True))

    @property
    def makespan(self) -> float:
        return max(self.ends) - min(client.registered for client in self.clients)

    def list_calls(self, queue: str) -> list[TimedCall]:
        """Return the calls of one function, in their order."""
        return sorted((call for call in self.calls if call.queue == queue), key=lambda call: call.began)


def make_steady(count: int, apart: float) -> list[float]:
    """Return arrivals one by one: what constants are fitted on. Each third comes together with the one before, so that
    queues are seen too."""
    return [apart * (number - (number % 3 == 2)) for number in range(count)]


def make_bursts(count: int, apart: float) -> list[float]:
    """Return arrivals in bursts of five, which have the same mean distance."""
    return [5 * apart * (number // 5) for number in range(count)]


def run_pattern(timed: TimedStack, uri: str, arrivals: Sequence[float]) -> MeasuredRun:
    """Register a slide at each of these seconds, submit its job once it is inspected, and wait for all results."""
    calls_before = len(timed.calls)
    began = time.time()
    with ThreadPoolExecutor(len(arrivals)) as pool:
        clients = list(pool.map(lambda at: _follow_slide(timed, uri, began + at), arrivals))
    time.sleep(LOOK_SECONDS)  # the last calls end
    calls = timed.calls[calls_before:]
    shards, ends = _read_times(timed, [client.job for client in clients])
    return MeasuredRun(began, clients, shards, ends, calls, read_load())


def read_load() -> float:
    """Return the machine's load of the last minute."""
    return os.getloadavg()[0]


def _follow_slide(timed: TimedStack, uri: str, at: float) -> ClientTimes:
    transport = Transport(timed.stack.api_url, timed.stack.api_key)
    try:
        api = Api(transport)
        time.sleep(max(0.0, at - time.time()))
        slide = api.register_slide(uri)
        registered = time.time()
        _wait(lambda: api.get_slide(slide).status != SlideState.UPLOADED, pause=LOOK_SECONDS)
        job = api.submit_job(slide, MODEL, idempotency_key=str(uuid4()), force=True).job_id
        submitted = time.time()
        _wait(lambda: JobState(api.get_job(job).status).is_final, pause=JOB_LOOK_SECONDS)
        return ClientTimes(job, slide, at, registered, submitted)
    finally:
        transport.close()


def _wait(is_over: Callable[[], bool], *, pause: float) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while not is_over():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the stack has not finished a slide within {MOST_SECONDS:.0f} s")
        time.sleep(pause)


def _read_times(timed: TimedStack, jobs: Sequence[str]) -> tuple[list[MeasuredShard], list[float]]:
    """Return the shards of these jobs, and when each job ended. Raises ValueError for a job that did not complete."""
    leased: dict[tuple[str, int], float] = {}
    shards: list[MeasuredShard] = []
    ends: dict[str, float] = {}
    with psycopg.connect(timed.stack.postgres.make_dsn(SYSTEM_ROLE, DATABASE)) as connection:
        rows = connection.execute(
            """
            SELECT job_id::text, kind, detail, extract(epoch FROM at)::float8
            FROM job_events WHERE job_id = ANY(%s::uuid[]) ORDER BY seq
            """,
            (list(jobs),),
        ).fetchall()
        counts = connection.execute(
            "SELECT job_id::text, index, tiles FROM shards WHERE job_id = ANY(%s::uuid[])", (list(jobs),)
        ).fetchall()
    tiles = {(job, index): count for job, index, count in counts}
    for job, kind, detail, at in rows:
        match kind:
            case "shard_leased":
                leased[job, detail["shard"]] = at
            case "shard_committed":
                place = (job, detail["shard"])
                shards.append(MeasuredShard(job, detail["owner"], tiles[place], leased[place], at))
            case "moved" if JobState(detail["state"]).is_final:
                if not JobState(detail["state"]).is_success:
                    raise ValueError(f"job {job} is {detail['state']}")
                ends[job] = at
            case _:  # other events and states
                continue
    return shards, [ends[job] for job in jobs]
