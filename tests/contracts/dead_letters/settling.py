"""The ledger contract: what the arrival of a dead letter does."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.contracts.ledger_world import (
    LedgerWorld,
    commit,
    completed_job,
    kinds,
    lease,
    queued_job,
    ready_slide,
    running_job,
    stitching_job,
    topics,
    uploaded_slide,
)
from wsi.records.jobs import Job
from wsi.records.operations.dead_letters import ArrivedLetter, LetterOutcome
from wsi.states import JobState, SlideState

RESENT, ENDED, PAST = LetterOutcome.RESENT, LetterOutcome.ENDED, LetterOutcome.PAST
UNREADABLE, KEPT = LetterOutcome.UNREADABLE, LetterOutcome.KEPT


def make_letter(queue: str, body: dict[str, Any] | str, *, ago: float = 0.0) -> ArrivedLetter:
    """Return a letter that was sent `ago` seconds before now."""
    return ArrivedLetter(
        message_id=str(uuid4()),
        queue=queue,
        text=body if isinstance(body, str) else json.dumps(body),
        receives=6,
        sent_at=datetime.now(UTC) - timedelta(seconds=ago),
    )


def arrive(world: LedgerWorld, queue: str, body: dict[str, Any] | str, *, ago: float = 0.0) -> LetterOutcome:
    return world.system.settle_letter(make_letter(queue, body, ago=ago))


def of_job(job: Job, **more: Any) -> dict[str, Any]:
    return {"v": 1, "job_id": str(job.id), **more}


def look(world: LedgerWorld, job: Job) -> Job:
    return world.tenants.get_job(world.actor, job.id)


class DeadLettersContract:
    @pytest.mark.parametrize(
        ("queue", "state", "reason"),
        [
            ("plan", JobState.QUEUED, "planning_failed"),
            ("heavy", JobState.PLANNING, "planning_failed"),
            ("stitch", JobState.STITCHING, "stitching_failed"),
            ("heavy", JobState.STITCHING, "stitching_failed"),
        ],
    )
    def test_the_second_letter_about_a_job_that_stands_still_ends_it(
        self, world: LedgerWorld, queue: str, state: JobState, reason: str
    ) -> None:
        job = stitching_job(world) if state is JobState.STITCHING else queued_job(world)
        if state is JobState.PLANNING:
            assert world.system.begin_planning(job.id)
        sent = len(topics(world, "plan") + topics(world, "stitch"))
        assert arrive(world, queue, of_job(job)) is RESENT, "it may have been an outage"
        assert len(topics(world, "plan") + topics(world, "stitch")) == sent + 1
        assert look(world, job).state is state
        assert arrive(world, queue, of_job(job)) is ENDED
        ended = look(world, job)
        assert (ended.state, ended.reason) == (JobState.FAILED, reason)
        assert arrive(world, queue, of_job(job)) is PAST
        assert kinds(world, job).count("dead_letter") == 2

    def test_a_job_that_moved_since_the_first_letter_has_another_chance(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        assert arrive(world, "plan", of_job(job)) is RESENT
        world.pass_time(60)
        assert world.system.begin_planning(job.id)
        assert arrive(world, "plan", of_job(job)) is RESENT

    def test_a_shard_that_no_worker_ever_took_ends_its_job_at_the_second_letter(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        assert commit(world, lease(world, job, 0))
        assert arrive(world, "shards-high", of_job(job, shard=1)) is RESENT
        assert topics(world, "shards-high")[-1] == of_job(job, shard=1)
        assert arrive(world, "shards-high", of_job(job, shard=1)) is ENDED
        ended = look(world, job)
        assert (ended.state, ended.reason) == (JobState.FAILED, "undelivered")
        assert "part 2 of the slide" in str(ended.sentence)

    def test_a_shard_that_workers_held_and_lost_is_only_sent_again(self, world: LedgerWorld) -> None:
        """A storm of spot interruptions burns ten receives of a good shard."""
        job = running_job(world, (10,))
        for _ in range(3):
            assert world.system.release_shard(lease(world, job, 0), reason="the worker is leaving", failed=False)
            assert arrive(world, "shards-high", of_job(job, shard=0), ago=3_600) is RESENT
        assert look(world, job).state is JobState.RUNNING

    def test_a_letter_about_a_shard_that_is_held_or_done_changes_nothing(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 0)
        assert arrive(world, "shards-high", of_job(job, shard=0), ago=60) is PAST
        assert commit(world, held)
        for _ in range(2):
            assert arrive(world, "shards-high", of_job(job, shard=0), ago=60) is PAST
        assert arrive(world, "shards-high", of_job(job, shard=7)) is PAST
        assert look(world, job).state is JobState.RUNNING

    def test_late_letters_leave_ended_jobs_alone(self, world: LedgerWorld) -> None:
        done = completed_job(world)
        before = len(world.outbox())
        for queue in ("plan", "heavy", "stitch"):
            assert arrive(world, queue, of_job(done)) is PAST
        assert arrive(world, "shards-low", of_job(done, shard=0)) is PAST
        assert arrive(world, "plan", {"v": 1, "job_id": str(uuid4())}) is PAST
        assert look(world, done) == done
        assert len(world.outbox()) == before

    def test_the_second_letter_about_an_uninspected_slide_rejects_it(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        body = {"v": 1, "slide_id": str(slide.id)}
        assert arrive(world, "inspect", body) is RESENT
        assert topics(world, "inspect") == [body, body]
        assert arrive(world, "inspect", body) is ENDED
        rejected = world.tenants.get_slide(world.actor, slide.id)
        assert (rejected.state, rejected.reason) == (SlideState.REJECTED, "damaged")
        assert arrive(world, "inspect", {"v": 1, "slide_id": str(ready_slide(world).id)}) is PAST

    @pytest.mark.parametrize(
        ("queue", "text", "outcome"),
        [
            ("plan", "no JSON", UNREADABLE),
            ("plan", "[1, 2]", UNREADABLE),
            ("plan", "{}", UNREADABLE),
            ("plan", '{"job_id": 7}', UNREADABLE),
            ("plan", "[" * 100_000, UNREADABLE),
            ("plan", '{"job_id": "a\0b"}', UNREADABLE),
            ("inspect", '{"v": 1, "job_id": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}', UNREADABLE),
            ("shards-low", '{"v": 1, "job_id": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}', UNREADABLE),
            ("plan", '{"v": 2, "job_id": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}', KEPT),
            ("notify", '{"v": 1, "job_id": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}', RESENT),
            ("notify", '{"v": 1, "budget_of": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}', RESENT),
            ("wake", "{}", PAST),
        ],
        ids=lambda value: str(value)[:60],
    )
    def test_every_body_has_an_outcome(self, world: LedgerWorld, queue: str, text: str, outcome: LetterOutcome) -> None:
        assert arrive(world, queue, text) is outcome

    def test_the_same_letter_again_does_nothing_more(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        letter = make_letter("plan", of_job(job))
        assert [world.system.settle_letter(letter) for _ in range(3)] == [RESENT] * 3
        assert look(world, job).state is JobState.QUEUED
