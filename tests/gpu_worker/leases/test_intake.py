from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_worker.drain import Drain
from gpu_worker.leases.heartbeat import Heartbeats, LeasedShard
from gpu_worker.leases.intake import Intake
from tests.fakes.queues import MemoryQueues
from tests.gpu_worker.installation import Installation
from tests.installation import Clock
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.jobs import Job, Priority
from wsi.records.models import ModelVersion
from wsi.states import ShardState


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


def intake_of(installation: Installation, lease_seconds: float = 60.0) -> Intake:
    return Intake(
        ledger=installation.ledger,
        queues=installation.queues,
        heartbeats=Heartbeats(ledger=installation.ledger, queues=installation.queues, lease_seconds=lease_seconds),
        drain=Drain(),
        owner="small",
        lease_seconds=lease_seconds,
        poll_seconds=0.01,
    )


def attempts(installation: Installation, job: Job) -> list[int]:
    return [shard.attempt for shard in installation.ledger.books.shards[job.id]]


def test_shards_of_a_model_that_the_device_can_not_hold_are_left_to_others(installation):
    job, plan = installation.planned_job(shard_tiles=20)
    small, large = intake_of(installation), intake_of(installation)
    small.refuse(job)
    assert small.take() is None
    assert attempts(installation, job) == [0] * len(plan.shard_sizes), "not even leased"
    assert large.take() is not None


def test_one_poll_hides_one_refused_shard_from_workers_that_could_take_it(installation):
    job, plan = installation.planned_job(shard_tiles=20)
    small = intake_of(installation)
    small.refuse(job)
    small.take()
    visible = installation.queues.receive("shards-normal", limit=10, wait_seconds=0, visibility_seconds=60)
    assert len(visible) == len(plan.shard_sizes) - 1


def test_a_worker_that_refuses_a_model_takes_the_shards_of_others_behind_them(installation):
    refused, _ = installation.planned_job(priority=Priority.HIGH, shard_tiles=None)
    newer = replace(STAIN_DENSITY, version="2", digest="f" * 64)
    installation.ledger.register_model(
        ModelVersion(name=newer.name, version="2", digest=newer.digest, card=newer.as_json(), package_uri=None)
    )
    other, _ = installation.planned_job(card=newer, shard_tiles=None)
    small = intake_of(installation)
    small.refuse(refused)
    held = small.take()
    assert held is not None
    assert held.lease.job.id == other.id


def test_another_job_of_a_refused_model_is_given_back_at_once_without_a_failure(installation):
    refused, _ = installation.planned_job(shard_tiles=None)
    small = intake_of(installation)
    small.refuse(refused)
    small.take()
    later, _ = installation.planned_job(priority=Priority.HIGH, shard_tiles=None)
    assert small.take() is None
    (shard,) = installation.ledger.books.shards[later.id]
    assert (shard.state, shard.attempt, shard.failures, shard.reason) == (ShardState.QUEUED, 1, 0, "unsuitable_gpu")
    large = intake_of(installation)
    installation.relay()
    held = large.take()
    assert held is not None
    assert held.lease.job.id == later.id


def test_a_message_that_somebody_received_again_is_not_deleted_by_the_older_receipt(installation):
    clock = Clock()
    installation.queues = MemoryQueues(clock)
    installation.planned_job(shard_tiles=None)
    slow = intake_of(installation)  # its heartbeats do not run
    held = slow.take()
    assert isinstance(held, LeasedShard)
    clock.pass_seconds(61)
    [again] = installation.queues.receive("shards-normal", limit=1, wait_seconds=0, visibility_seconds=60)
    slow.give_back(held)
    slow.finish(held)
    assert installation.queues.receive("shards-normal", limit=1, wait_seconds=0, visibility_seconds=60) == ()
    assert installation.queues.depth("shards-normal") == 1
    installation.queues.delete("shards-normal", again.receipt)
    assert installation.queues.depth("shards-normal") == 0
