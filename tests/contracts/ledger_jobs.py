"""The ledger contract: jobs from submission to results."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.contracts.ledger_world import (
    EMAIL,
    HEAVY_OPTIONS,
    KEY_NAME,
    KEY_PREFIX,
    KEY_SECRET,
    LARGE_INSPECTION,
    PLAN_DIGEST,
    RESULT,
    TRACE,
    LedgerWorld,
    commit,
    completed_job,
    kinds,
    lease,
    new_job,
    plan,
    queued_job,
    ready_slide,
    running_job,
    sha256,
    stitching_job,
    submit,
    topics,
    uploaded_slide,
)
from wsi.errors import Conflict, FailReason, NotFound
from wsi.ledger_rules import TAKE_OVER_DAYS
from wsi.records.jobs import Idempotency, JobFilter, JobTerms, Priority
from wsi.records.notices import PUSH, make_job_update
from wsi.records.shards import LeaseRefusal
from wsi.states import JobState


def found_jobs(world: LedgerWorld, **filters: Any) -> list[UUID]:
    """Return the ids of the jobs that meet the filters, newest first."""
    page = world.tenants.list_jobs(world.actor, JobFilter(**filters), cursor=None, limit=10)
    return [job.id for job in page.items]


class SubmissionContract:
    def test_submitted_job_is_queued_for_planning(self, world: LedgerWorld) -> None:
        asked = new_job(ready_slide(world), label="study 1", priority=Priority.LOW)
        submission = submit(world, asked)
        job = submission.job
        assert (submission.replayed, submission.reused) == (False, False)
        assert job == world.tenants.get_job(world.actor, asked.id)
        assert (job.state, job.version, job.progress_seq) == (JobState.QUEUED, 1, 0)
        assert (job.options, job.label, job.priority) == (asked.options, "study 1", Priority.LOW)
        assert (job.traceparent, job.created_by) == (TRACE, world.actor.subject)
        assert topics(world, "plan") == [{"v": 1, "job_id": str(job.id)}]
        assert topics(world, PUSH) == [make_job_update(job).as_json()]
        (event,) = world.tenants.list_job_events(world.actor, job.id, after=0, limit=10)
        assert (event.kind, event.version, event.detail["state"]) == ("moved", 1, "QUEUED")

    def test_job_over_a_large_slide_at_another_scale_is_planned_elsewhere(self, world: LedgerWorld) -> None:
        slide = ready_slide(world, inspection=LARGE_INSPECTION)
        job = submit(world, new_job(slide, options=HEAVY_OPTIONS)).job
        assert topics(world, "heavy") == [{"v": 1, "job_id": str(job.id)}]
        assert topics(world, "plan") == []
        assert plan(world, job.id, (10, 5)).state is JobState.RUNNING

    def test_same_key_and_body_replays_the_first_answer(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        first = submit(world, new_job(slide), key="k")
        again = submit(world, new_job(slide), key="k")
        assert again.job == first.job
        assert again.replayed
        assert len(topics(world, "plan")) == 1

    def test_same_key_with_another_body_is_a_conflict(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        submit(world, new_job(slide), key="k")
        with pytest.raises(Conflict, match="Idempotency-Key"):
            submit(world, new_job(slide), key="k", body="another")

    def test_keys_of_tenants_do_not_meet(self, world: LedgerWorld) -> None:
        submit(world, new_job(ready_slide(world)), key="k", body="ours")
        theirs = new_job(ready_slide(world, actor=world.other))
        idempotency = Idempotency(key="k", body_digest="theirs")
        made = world.tenants.submit_job(world.other, theirs, idempotency=idempotency, reuse_finished=True)
        assert (made.job.tenant, made.replayed) == (world.other.tenant, False)

    def test_refused_job_leaves_its_key_free(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        with pytest.raises(Conflict):
            submit(world, new_job(slide), key="k")
        assert world.system.accept_slide(slide.id, {}, "t", version=slide.version)
        assert not submit(world, new_job(world.tenants.get_slide(world.actor, slide.id)), key="k").replayed

    def test_twenty_parallel_creates_make_one_job(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: submit(world, new_job(slide), key="k"), range(20)))
        assert len({answer.job.id for answer in answers}) == 1
        assert sum(not answer.replayed for answer in answers) == 1
        assert len(topics(world, "plan")) == 1

    def test_equal_finished_job_is_the_answer(self, world: LedgerWorld) -> None:
        done = completed_job(world)
        slide = world.tenants.get_slide(world.actor, done.slide_id)
        answer = submit(world, new_job(slide), key="k")
        assert (answer.job, answer.reused, answer.replayed) == (done, True, False)
        again = submit(world, new_job(slide), key="k")
        assert (again.job, again.reused, again.replayed) == (done, True, True)
        assert not submit(world, new_job(slide), reuse=False).reused
        assert not submit(world, new_job(slide, identity="other")).reused

    def test_failed_jobs_are_not_reused(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        slide = world.tenants.get_slide(world.actor, job.slide_id)
        assert world.system.fail_job(job.id, FailReason.PLANNING_FAILED, "It failed.")
        assert submit(world, new_job(slide)).job.id != job.id

    def test_finished_job_of_another_tenant_is_not_reused(self, world: LedgerWorld) -> None:
        done = completed_job(world)
        theirs = new_job(ready_slide(world, actor=world.other), identity=done.identity)
        answer = world.tenants.submit_job(world.other, theirs, idempotency=None, reuse_finished=True)
        assert not answer.reused

    def test_job_needs_a_ready_slide_of_its_tenant_and_a_known_model(self, world: LedgerWorld) -> None:
        with pytest.raises(Conflict):
            submit(world, new_job(uploaded_slide(world)))
        with pytest.raises(NotFound):
            submit(world, new_job(ready_slide(world, actor=world.other)))
        with pytest.raises(NotFound, match="model"):
            submit(world, new_job(ready_slide(world), model="unknown"))
        deleted = ready_slide(world)
        world.tenants.delete_slide(world.actor, deleted.id)
        with pytest.raises(Conflict, match="deleted"):
            submit(world, new_job(deleted))

    def test_jobs_are_found_by_each_filter(self, world: LedgerWorld) -> None:
        kidney, liver = ready_slide(world, name="Kidney 1"), ready_slide(world, name="Liver 1")
        first = queued_job(world, slide=kidney, label="Pilot")
        second = queued_job(world, slide=liver)
        world.tenants.cancel_job(world.actor, second.id)

        found = partial(found_jobs, world)
        assert found() == [second.id, first.id]
        assert found(q="pilot") == [first.id]
        assert found(q="LIVER") == [second.id]
        assert found(state=JobState.CANCELLED) == [second.id]
        assert found(label="Pilot") == [first.id]
        assert found(slide_id=kidney.id) == [first.id]
        assert found(model="unknown") == []
        assert found(model=first.model) == [second.id, first.id]
        assert found(created_by=world.actor.subject) == [second.id, first.id]
        assert found(created_by=world.other.subject) == []

    def test_each_stated_text_is_stored_and_found_by_its_filter(self, world: LedgerWorld) -> None:
        texts = {name: f"some {name}" for name, value in JobTerms().get_terms().items() if value is None}
        stated, silent = queued_job(world, **texts), queued_job(world)
        assert {name: stated.get_terms()[name] for name in texts} == texts
        assert {name: silent.get_terms()[name] for name in texts} == dict.fromkeys(texts)
        filters = {field.name for field in fields(JobFilter)} & texts.keys()
        assert filters
        for name in filters:
            assert found_jobs(world, **{name: texts[name]}) == [stated.id]
            assert found_jobs(world, **{name: texts[name].upper()}) == []

    def test_who_asked_is_known_by_name_within_the_tenant_alone(self, world: LedgerWorld) -> None:
        key = world.identities.find_api_key(KEY_PREFIX, sha256(KEY_SECRET))
        assert key is not None
        subjects = [world.actor.subject, key.subject, world.other.subject, f"user:{uuid4()}", "nobody"]
        known = {world.actor.subject: EMAIL, key.subject: KEY_NAME}
        assert world.tenants.list_names(world.actor, subjects) == known
        assert world.tenants.list_names(key, subjects) == known
        assert world.tenants.list_names(world.other, subjects) == {}
        assert world.tenants.list_names(world.actor, []) == {}

    def test_pages_of_jobs_are_complete_and_without_duplicates(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        made = [queued_job(world, slide=slide).id for _ in range(5)]
        seen: list[object] = []
        cursor: str | None = None
        while cursor or not seen:
            page = world.tenants.list_jobs(world.actor, JobFilter(), cursor=cursor, limit=2)
            seen += [job.id for job in page.items]
            cursor = page.next_cursor
        assert seen == made[::-1]


class JobMovesContract:
    def test_a_dead_planners_job_is_planned_again(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        first, second = world.system.begin_planning(job.id), world.system.begin_planning(job.id)
        assert first is not None
        assert first == second
        assert (first.job.state, first.job.version) == (JobState.PLANNING, 2)
        assert first.slide.id == job.slide_id
        assert first.model.digest == job.model_digest
        assert len(topics(world, "plan")) == 1

    def test_plan_sends_each_shard_to_its_priorities_queue(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 10, 5), priority=Priority.LOW)
        assert (job.state, job.version, job.shards_total, job.shards_remaining) == (JobState.RUNNING, 3, 3, 3)
        assert (job.tiles_planned, job.plan_digest) == (25, PLAN_DIGEST)
        assert topics(world, "shards-low") == [{"v": 1, "job_id": str(job.id), "shard": k} for k in range(3)]
        assert world.system.begin_planning(job.id) is None
        assert not world.system.commit_plan(job.id, plan_key="k", plan_digest="d", shard_tiles=(1,))

    def test_plan_of_thousands_of_shards(self, world: LedgerWorld) -> None:
        job = running_job(world, [2048] * 2500 + [7])
        assert (job.shards_total, job.tiles_planned) == (2501, 2048 * 2500 + 7)
        assert [body["shard"] for body in topics(world, "shards-high")] == list(range(2501))
        assert lease(world, job, 2500).tiles == 7

    def test_slide_without_tissue_ends_well(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        assert world.system.begin_planning(job.id)
        assert world.system.finish_without_tissue(job.id, (RESULT,))
        assert not world.system.finish_without_tissue(job.id, (RESULT,))
        done = world.tenants.get_job(world.actor, job.id)
        assert (done.state, done.progress) == (JobState.NO_TISSUE, 1.0)
        assert done.finished_at is not None
        assert world.tenants.list_results(world.actor, job.id) == (RESULT,)
        slide = world.tenants.get_slide(world.actor, job.slide_id)
        assert submit(world, new_job(slide)).reused

    def test_results_complete_the_job_once(self, world: LedgerWorld) -> None:
        job = stitching_job(world)
        brief = world.system.find_stitch_brief(job.id)
        assert brief is not None
        assert [(shard.index, shard.tiles) for shard in brief.shards] == [(0, 10), (1, 5)]
        assert brief.shards == world.tenants.list_finished_shards(world.actor, job.id)
        assert world.system.commit_results(job.id, (RESULT,))
        assert not world.system.commit_results(job.id, (RESULT,))
        assert world.system.find_stitch_brief(job.id) is None
        done = world.tenants.get_job(world.actor, job.id)
        assert (done.state, done.tiles_inferred, done.tiles_unreadable) == (JobState.COMPLETED, 15, 0)
        assert world.tenants.list_results(world.actor, job.id) == (RESULT,)

    def test_unreadable_tiles_are_told_in_the_final_state(self, world: LedgerWorld) -> None:
        job = completed_job(world, unreadable=3)
        assert job.state is JobState.COMPLETED_WITH_UNREADABLE_TILES
        assert (job.tiles_inferred, job.tiles_unreadable, job.tiles_planned) == (12, 3, 15)

    def test_final_states_stay_final(self, world: LedgerWorld) -> None:
        job = completed_job(world)
        assert not world.system.fail_job(job.id, FailReason.STITCHING_FAILED, "Too late.")
        assert world.system.begin_planning(job.id) is None
        assert not world.system.finish_without_tissue(job.id, ())
        assert world.system.lease_shard(job.id, 0, owner="w", seconds=60) is LeaseRefusal.SETTLED
        with pytest.raises(Conflict, match="COMPLETED"):
            world.tenants.cancel_job(world.actor, job.id)
        assert world.tenants.get_job(world.actor, job.id) == job

    def test_moves_out_of_order_change_nothing(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        assert not world.system.commit_plan(job.id, plan_key="k", plan_digest="d", shard_tiles=(1,))
        assert not world.system.finish_without_tissue(job.id, ())
        assert not world.system.commit_results(job.id, ())
        assert world.system.find_stitch_brief(job.id) is None
        assert world.system.lease_shard(job.id, 0, owner="w", seconds=60) is LeaseRefusal.SETTLED
        assert world.tenants.get_job(world.actor, job.id) == job
        for unknown in (world.system.begin_planning(uuid4()), world.system.find_stitch_brief(uuid4())):
            assert unknown is None
        assert not world.system.commit_results(uuid4(), ())
        assert not world.system.fail_job(uuid4(), FailReason.PLANNING_FAILED, "x")

    def test_cancelled_job_stops_its_shards(self, world: LedgerWorld) -> None:
        job = running_job(world)
        held = lease(world, job, 0)
        cancelled = world.tenants.cancel_job(world.actor, job.id)
        assert cancelled.state is JobState.CANCELLED
        assert world.tenants.cancel_job(world.actor, job.id) == cancelled
        assert not world.system.extend_lease(held, seconds=60)
        assert not commit(world, held)
        assert world.system.lease_shard(job.id, 1, owner="w", seconds=60) is LeaseRefusal.SETTLED
        assert world.tenants.get_job(world.actor, job.id) == cancelled

    def test_failed_job_stops_its_shards_and_says_why(self, world: LedgerWorld) -> None:
        job = running_job(world)
        held = lease(world, job, 0)
        assert world.system.fail_job(job.id, FailReason.SLIDE_CHANGED, "The slide changed.")
        failed = world.tenants.get_job(world.actor, job.id)
        assert (failed.state, failed.reason) == (JobState.FAILED, "slide_changed")
        assert failed.sentence == "The slide changed."
        assert not commit(world, held)
        assert not world.system.release_shard(held, reason="drained", failed=False)
        assert topics(world, PUSH)[-1]["reason"] == "slide_changed"

    def test_every_move_raises_the_version_with_one_event_and_one_push(self, world: LedgerWorld) -> None:
        job = completed_job(world)
        moved = [
            event
            for event in world.tenants.list_job_events(world.actor, job.id, after=0, limit=100)
            if event.kind == "moved"
        ]
        states = ["QUEUED", "PLANNING", "RUNNING", "STITCHING", "COMPLETED"]
        assert [(event.version, event.detail["state"]) for event in moved] == list(enumerate(states, start=1))
        pushes = topics(world, PUSH)
        first_push = {body["version"]: body["status"] for body in reversed(pushes)}
        assert first_push == dict(enumerate(states, start=1))
        order = [(body["version"], body["progress_seq"]) for body in pushes]
        assert order == sorted(order)

    def test_events_are_read_on_from_the_last_one_seen(self, world: LedgerWorld) -> None:
        job = completed_job(world)
        everything = world.tenants.list_job_events(world.actor, job.id, after=0, limit=100)
        first = world.tenants.list_job_events(world.actor, job.id, after=0, limit=2)
        rest = world.tenants.list_job_events(world.actor, job.id, after=first[-1].seq, limit=100)
        assert first + rest == everything

    def test_retry_takes_over_finished_shards(self, world: LedgerWorld) -> None:
        failed = running_job(world, (10, 10, 5))
        assert commit(world, lease(world, failed, 1), unreadable=2)
        world.system.fail_job(failed.id, FailReason.SLIDE_UNREADABLE, "It failed.")
        slide = world.tenants.get_slide(world.actor, failed.slide_id)
        again = plan(world, queued_job(world, slide=slide, retry_of=failed.id).id, (10, 10, 5))
        assert (again.state, again.shards_remaining, again.retry_of) == (JobState.RUNNING, 2, failed.id)
        assert (again.tiles_inferred, again.tiles_unreadable) == (8, 2)
        mine = [body["shard"] for body in topics(world, "shards-high") if body["job_id"] == str(again.id)]
        assert mine == [0, 2]
        assert world.tenants.list_finished_shards(world.actor, again.id) == world.tenants.list_finished_shards(
            world.actor, failed.id
        )
        assert "retried" in kinds(world, failed)

    def test_retry_does_not_count_on_objects_that_the_bucket_removes_soon(self, world: LedgerWorld) -> None:
        first = running_job(world, (10, 5))
        assert commit(world, lease(world, first, 0))
        world.system.fail_job(first.id, FailReason.SLIDE_UNREADABLE, "It failed.")
        slide = world.tenants.get_slide(world.actor, first.slide_id)
        world.pass_time((TAKE_OVER_DAYS - 1) * 86_400)
        second = plan(world, queued_job(world, slide=slide, retry_of=first.id).id, (10, 5))
        assert second.shards_remaining == 1
        world.system.fail_job(second.id, FailReason.SLIDE_UNREADABLE, "It failed.")
        world.pass_time(2 * 86_400)
        # What the second job took over is as old as the first one made it.
        third = plan(world, queued_job(world, slide=slide, retry_of=second.id).id, (10, 5))
        assert third.shards_remaining == 2
        assert third.tiles_inferred == 0

    def test_retry_with_nothing_left_goes_straight_to_stitching(self, world: LedgerWorld) -> None:
        failed = stitching_job(world, (10, 5))
        world.system.fail_job(failed.id, FailReason.STITCHING_FAILED, "It failed.")
        slide = world.tenants.get_slide(world.actor, failed.slide_id)
        again = plan(world, queued_job(world, slide=slide, retry_of=failed.id).id, (10, 5))
        assert again.state is JobState.STITCHING
        assert topics(world, "stitch")[-1] == {"v": 1, "job_id": str(again.id)}

    @pytest.mark.parametrize(("digest", "sizes"), [("q" * 64, (10, 10, 5)), (PLAN_DIGEST, (10, 15))])
    def test_retry_with_another_plan_begins_anew(self, world: LedgerWorld, digest: str, sizes: tuple[int, ...]) -> None:
        failed = running_job(world, (10, 10, 5))
        assert commit(world, lease(world, failed, 0))
        world.system.fail_job(failed.id, FailReason.SLIDE_UNREADABLE, "It failed.")
        slide = world.tenants.get_slide(world.actor, failed.slide_id)
        again = plan(world, queued_job(world, slide=slide, retry_of=failed.id).id, sizes, digest=digest)
        assert again.shards_remaining == len(sizes)
        assert again.tiles_inferred == 0
