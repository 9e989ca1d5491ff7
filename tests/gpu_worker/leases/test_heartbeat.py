from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu_worker.leases.heartbeat import Heartbeats, LeasedShard
from tests.fakes.queues import MemoryQueues
from tests.gpu_worker.installation import Installation, now
from tests.installation import Clock
from wsi.records.shards import Lease

LEASE = 180.0


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture
def held(installation) -> LeasedShard:
    job, _ = installation.planned_job()
    message = installation.queues.receive("shards-normal", limit=1, wait_seconds=0, visibility_seconds=5)[0]
    lease = installation.ledger.lease_shard(job.id, 0, owner="me", seconds=5)
    assert isinstance(lease, Lease)
    return LeasedShard(lease=lease, queue="shards-normal", message=message)


def heartbeats(installation, ledger=None, lease_seconds=LEASE) -> Heartbeats:
    return Heartbeats(ledger=ledger or installation.ledger, queues=installation.queues, lease_seconds=lease_seconds)


class Answers:
    """A ledger whose extend_lease gives what it is told to."""

    def __init__(self, answers: list[bool | Exception]) -> None:
        self._answers: Iterator[bool | Exception] = iter(answers)
        self.asked = 0

    def extend_lease(self, lease: Lease, *, seconds: float) -> bool:
        self.asked += 1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_beat_extends_the_lease_in_sql(installation, held):
    beats = heartbeats(installation)
    beats.add(held)
    beats.beat()
    shard = installation.ledger.books.shards[held.lease.job.id][0]
    assert (shard.lease_until - now()).total_seconds() > LEASE - 5
    assert not held.stop.is_set()


def test_a_beat_keeps_the_message_hidden(installation):
    clock = Clock()
    installation.queues = MemoryQueues(clock)
    job, _ = installation.planned_job(shard_tiles=None)
    [message] = installation.queues.receive("shards-normal", limit=1, wait_seconds=0, visibility_seconds=1)
    lease = installation.ledger.lease_shard(job.id, 0, owner="me", seconds=5)
    assert isinstance(lease, Lease)
    beats = heartbeats(installation)
    beats.add(LeasedShard(lease=lease, queue="shards-normal", message=message))
    beats.beat()
    clock.pass_seconds(2)
    assert installation.queues.receive("shards-normal", limit=1, wait_seconds=0, visibility_seconds=1) == ()


def test_a_refused_beat_stops_the_work_and_is_not_asked_again(installation, held):
    ledger = Answers([False])
    beats = heartbeats(installation, ledger)
    beats.add(held)
    beats.beat()
    assert held.stop.is_set()
    beats.beat()
    assert ledger.asked == 1


def test_a_database_that_is_away_for_a_moment_costs_no_lease(installation, held):
    beats = heartbeats(installation, Answers([ConnectionError(), True]))
    beats.add(held)
    beats.beat()
    beats.beat()
    assert not held.stop.is_set()


def test_a_lease_that_could_not_be_extended_in_time_is_lost(installation, held):
    beats = heartbeats(installation, Answers([ConnectionError()]), lease_seconds=0.0)
    beats.add(held)
    beats.beat()
    assert held.stop.is_set()


def test_a_message_that_somebody_else_has_costs_no_lease(installation, held):
    installation.queues.delete(held.queue, held.message.receipt)
    beats = heartbeats(installation)
    beats.add(held)
    beats.beat()
    assert not held.stop.is_set()


def test_a_removed_lease_is_not_extended(installation, held):
    ledger = Answers([])
    beats = heartbeats(installation, ledger)
    beats.add(held)
    beats.remove(held)
    beats.beat()
    assert ledger.asked == 0
