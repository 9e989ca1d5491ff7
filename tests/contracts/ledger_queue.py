"""The ledger contract: the queue as one job finds it."""

from __future__ import annotations

import pytest

from adapters.settings.scaling import IDLE_SECONDS
from tests.contracts.ledger_world import (
    MODEL,
    LedgerWorld,
    checkpoint,
    commit,
    completed_job,
    lease,
    new_job,
    plan,
    queued_job,
    ready_slide,
    running_job,
    stitching_job,
)
from wsi.errors import FailReason
from wsi.records.expectations import QueueState
from wsi.records.jobs import Job, Priority


def queue_of(world: LedgerWorld, job: Job) -> QueueState:
    return world.tenants.measure_queue(job.id)


class QueueStateContract:
    def test_a_lone_job_has_nothing_before_it_and_no_worker(self, world: LedgerWorld) -> None:
        assert queue_of(world, queued_job(world)) == QueueState()

    def test_a_planned_job_waits_since_its_plan(self, world: LedgerWorld) -> None:
        job = running_job(world)
        assert queue_of(world, job).waiting_since == job.updated_at

    def test_before_a_job_are_those_of_higher_priority_and_earlier_ones_of_its_own(self, world: LedgerWorld) -> None:
        running_job(world, (7,), priority=Priority.LOW)
        running_job(world, (10, 5), priority=Priority.NORMAL)
        job = running_job(world, (3,), priority=Priority.NORMAL)
        running_job(world, (100,), priority=Priority.NORMAL)
        running_job(world, (20,), priority=Priority.HIGH)
        found = queue_of(world, job)
        assert (found.jobs_ahead, found.tiles_ahead, found.shards_ahead) == (2, 35, 3)

    def test_jobs_without_a_plan_are_before_it_and_those_that_ended_or_are_stitched_are_not(
        self, world: LedgerWorld
    ) -> None:
        completed_job(world)
        stitching_job(world)
        failed = queued_job(world)
        assert world.system.fail_job(failed.id, FailReason.PLANNING_FAILED, "It could not be planned.")
        queued_job(world)
        found = queue_of(world, running_job(world))
        assert (found.jobs_ahead, found.tiles_ahead, found.shards_ahead) == (1, 0, 0)

    def test_only_tiles_that_are_left_are_before_it(self, world: LedgerWorld) -> None:
        first = running_job(world, (10, 10, 5))
        assert commit(world, lease(world, first, 0))
        assert checkpoint(world, lease(world, first, 1), done=4)
        found = queue_of(world, running_job(world))
        assert (found.tiles_ahead, found.shards_ahead) == (11, 2)

    def test_jobs_of_other_tenants_are_before_it_too(self, world: LedgerWorld) -> None:
        slide = ready_slide(world, actor=world.other)
        other = world.tenants.submit_job(world.other, new_job(slide), idempotency=None, reuse_finished=False).job
        assert world.system.begin_planning(other.id)
        assert world.system.commit_plan(other.id, plan_key="plan", plan_digest="p" * 64, shard_tiles=(40,))
        found = queue_of(world, running_job(world))
        assert (found.jobs_ahead, found.tiles_ahead) == (1, 40)
        assert found.waiting_since == world.tenants.get_job(world.other, other.id).updated_at

    def test_a_worker_counts_once_however_many_shards_it_holds(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 10, 5))
        lease(world, job, 0, owner="worker-1")
        lease(world, job, 1, owner="worker-1")
        lease(world, job, 2, owner="worker-2")
        assert queue_of(world, queued_job(world)).workers == 2

    def test_a_worker_whose_lease_ran_out_is_gone(self, world: LedgerWorld) -> None:
        job = running_job(world)
        lease(world, job, 0, seconds=30)
        world.pass_time(31)
        assert queue_of(world, job).workers == 0

    def test_a_worker_that_finished_a_job_a_moment_ago_is_up(self, world: LedgerWorld) -> None:
        completed_job(world)
        job = running_job(world)
        assert queue_of(world, job).workers == 1
        world.pass_time(IDLE_SECONDS + 1)
        assert queue_of(world, job).workers == 0

    def test_the_rate_is_that_of_the_models_last_shards(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        assert commit(world, lease(world, job, 0, owner="worker-1"), rate=30.0)
        assert commit(world, lease(world, job, 1, owner="worker-2"), rate=50.0)
        assert queue_of(world, queued_job(world)).tiles_per_second is None
        assert world.system.commit_results(job.id, ())
        assert queue_of(world, queued_job(world)).tiles_per_second == pytest.approx(40.0)

    def test_without_a_shard_the_rate_is_that_of_the_models_own_test(self, world: LedgerWorld) -> None:
        card = {**MODEL.card, "tiles_per_second": 75.0}
        fast = type(MODEL)(name="fast", version="1", digest="f" * 64, card=card, package_uri=None)
        world.system.register_model(fast)
        job = queued_job(world, model="fast", model_version="1", model_digest=fast.digest)
        plan(world, job.id, (10,))
        assert queue_of(world, job).tiles_per_second == 75.0
