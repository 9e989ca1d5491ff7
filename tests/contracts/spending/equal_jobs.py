"""The ledger contract: equal jobs of one tenant are computed once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from tests.contracts.ledger_world import (
    RESULT,
    LedgerWorld,
    completed_job,
    lease,
    new_job,
    plan,
    queued_job,
    ready_slide,
    stitching_job,
    submit,
    topics,
)
from wsi.errors import FailReason, Forbidden, TooManyRequests
from wsi.records.identity import Actor
from wsi.records.jobs import Job, NewJob, Priority, Submission
from wsi.records.quotas import Quotas
from wsi.states import JobState

AT_ONCE = 20


def submit_at_once(world: LedgerWorld, asked: list[NewJob], *, actor: Actor | None = None) -> list[Submission]:
    barrier = threading.Barrier(len(asked))

    def ask(job: NewJob) -> Submission:
        barrier.wait()
        return submit(world, job, actor=actor)

    with ThreadPoolExecutor(len(asked)) as pool:
        return list(pool.map(ask, asked))


def told(world: LedgerWorld, job_id: UUID) -> list[str]:
    brief = world.system.claim_deliveries(job_id, seconds=60)
    assert brief is not None
    return [delivery.target for delivery in brief.deliveries]


class EqualJobsContract:
    def test_equal_requests_at_once_without_a_key_compute_once(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        answers = submit_at_once(world, [new_job(slide) for _ in range(AT_ONCE)])
        assert len({answer.job.id for answer in answers}) == 1
        assert sum(answer.shared for answer in answers) == AT_ONCE - 1
        assert len(topics(world, "plan")) == 1

    def test_different_requests_at_once_are_different_jobs(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        answers = submit_at_once(world, [new_job(slide, identity=str(n)) for n in range(5)])
        assert len({answer.job.id for answer in answers}) == 5

    @pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.STITCHING])
    def test_a_live_job_is_shared_in_each_state(self, world: LedgerWorld, state: JobState) -> None:
        if state is JobState.STITCHING:
            job = stitching_job(world)
        else:
            job = queued_job(world)
            job = plan(world, job.id, (10, 5)) if state is JobState.RUNNING else job
        answer = submit(world, new_job(self._slide(world, job)))
        assert (answer.job.id, answer.shared, answer.reused) == (job.id, True, False)

    def test_a_finished_one_is_preferred_to_a_live_one(self, world: LedgerWorld) -> None:
        done = completed_job(world)
        slide = self._slide(world, done)
        anew = submit(world, new_job(slide), reuse=False)
        assert anew.job.id != done.id, "it was forced"
        answer = submit(world, new_job(slide))
        assert (answer.job.id, answer.reused, answer.shared) == (done.id, True, False)

    def test_one_that_was_cancelled_or_failed_answers_nobody_later(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        first = submit(world, new_job(slide)).job
        world.tenants.cancel_job(world.actor, first.id)
        second = submit(world, new_job(slide))
        assert (second.job.id != first.id, second.shared) == (True, False)
        assert world.system.fail_job(second.job.id, FailReason.PLANNING_FAILED, "It failed.")
        third = submit(world, new_job(slide))
        assert (third.job.id != second.job.id, third.job.state) == (True, JobState.QUEUED)

    def test_tenants_never_share_a_job(self, world: LedgerWorld) -> None:
        ours = submit(world, new_job(ready_slide(world), identity="same"))
        theirs = submit(world, new_job(ready_slide(world, actor=world.other), identity="same"), actor=world.other)
        assert theirs.job.id != ours.job.id
        assert not theirs.shared

    def test_a_key_replays_that_the_job_was_shared(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        first = submit(world, new_job(slide))
        keyed = submit(world, new_job(slide), key="k")
        again = submit(world, new_job(slide), key="k")
        assert keyed.job.id == again.job.id == first.job.id
        assert (keyed.replayed, keyed.shared) == (False, True)
        assert (again.replayed, again.shared) == (True, True)

    def test_a_shared_job_takes_nothing_of_a_quota(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(jobs_waiting=1))
        slide = ready_slide(world)
        submit(world, new_job(slide))
        assert submit(world, new_job(slide)).shared
        with pytest.raises(TooManyRequests):
            submit(world, new_job(slide, identity="another"))

    def test_whoever_shares_a_job_hears_of_its_end(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        first = submit(world, new_job(slide, notify_email="ada@hospital.example")).job
        for _ in range(2):
            submit(world, new_job(slide, notify_email="bob@hospital.example", notify_webhook="https://x.example/"))
        submit(world, new_job(slide, notify_email="ada@hospital.example"))
        assert told(world, first.id) == [], "it goes on"
        self._complete(world, first)
        assert topics(world, "notify") == [{"v": 1, "job_id": str(first.id)}]
        assert sorted(told(world, first.id)) == ["ada@hospital.example", "bob@hospital.example", "https://x.example/"]

    def test_whoever_shares_a_job_that_asked_for_no_notice_hears_of_it_too(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        job = submit(world, new_job(slide)).job
        submit(world, new_job(slide, notify_email="bob@hospital.example"))
        world.tenants.cancel_job(world.actor, job.id)
        assert topics(world, "notify") == [{"v": 1, "job_id": str(job.id)}]
        assert told(world, job.id) == ["bob@hospital.example"], "somebody else cancelled it"

    def test_a_more_urgent_request_makes_the_job_urgent(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        job = submit(world, new_job(slide, priority=Priority.LOW)).job
        assert world.system.begin_planning(job.id)
        assert world.system.commit_plan(job.id, plan_key="k", plan_digest="d", shard_tiles=(10, 5))
        answer = submit(world, new_job(slide, priority=Priority.HIGH))
        assert (answer.job.id, answer.job.priority) == (job.id, Priority.HIGH)
        assert submit(world, new_job(slide, priority=Priority.LOW)).job.priority is Priority.HIGH
        world.system.admit_shards(in_flight=10)
        assert [body["shard"] for body in topics(world, "shards-high")] == [0, 1]
        assert topics(world, "shards-low") == []
        lease(world, answer.job, 0)

    def test_nobody_makes_a_job_more_urgent_than_allowed(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        job = submit(world, new_job(slide, priority=Priority.LOW)).job
        world.set_quotas(world.actor, Quotas(top_priority=Priority.NORMAL))
        with pytest.raises(Forbidden, match="ask for normal"):
            submit(world, new_job(slide, priority=Priority.HIGH))
        assert world.tenants.get_job(world.actor, job.id).priority is Priority.LOW

    def _slide(self, world: LedgerWorld, job: Job):
        return world.tenants.get_slide(world.actor, job.slide_id)

    def _complete(self, world: LedgerWorld, job: Job) -> None:
        assert world.system.begin_planning(job.id)
        assert world.system.finish_without_tissue(job.id, (RESULT,))
