"""The ledger contract: what deletions remove, what keeps them from it, and what the sweep does about them."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.contracts.ledger_world import (
    RESULT,
    LedgerWorld,
    commit,
    completed_job,
    lease,
    new_job,
    plan,
    queued_job,
    ready_slide,
    running_job,
    submit,
    uploaded_slide,
    uploading_slide,
)
from wsi.errors import Conflict, FailReason, NotFound, RejectReason
from wsi.records.jobs import Job, JobFilter, JobOptions
from wsi.records.quotas import Retention
from wsi.records.slides import Choice, Slide
from wsi.states import JobState, SlideState

HOUR, DAY = 3_600.0, 86_400.0


def claimed(world: LedgerWorld) -> tuple[list[UUID], list[UUID]]:
    """What the sweep would erase now."""
    slides = world.system.claim_deleted_slides(seconds=300, limit=10)
    return [slide.id for slide in slides], [job.id for job in world.system.claim_deleted_jobs(seconds=300, limit=10)]


def claimed_to_expire(world: LedgerWorld) -> tuple[list[UUID], list[UUID]]:
    slides = world.system.claim_expired_slides(seconds=HOUR, limit=10)
    return [slide.id for slide in slides], [job.id for job in world.system.claim_expired_jobs(seconds=HOUR, limit=10)]


def listed(world: LedgerWorld, **wanted: Any) -> list[UUID]:
    return [job.id for job in world.tenants.list_jobs(world.actor, JobFilter(**wanted), cursor=None, limit=10).items]


def failed_job(world: LedgerWorld, **changes: Any) -> Job:
    job = running_job(world, (10, 5), **changes)
    assert commit(world, lease(world, job, 0))
    assert world.system.fail_job(job.id, FailReason.MODEL_FAILED, "Smith's slide has no tile.")
    return world.tenants.get_job(world.actor, job.id)


def slide_with_a_job(world: LedgerWorld) -> tuple[Slide, Job]:
    slide = ready_slide(world, name="Smith, John")
    job = completed_job(world, slide=slide, label="John Smith", notify_email="smith@hospital.example")
    return slide, job


class ErasureLedgerContract:
    def test_a_deleted_slide_has_no_name_and_nothing_that_was_found_or_stated(self, world: LedgerWorld) -> None:
        slide = ready_slide(world, name="Smith, John")
        world.tenants.delete_slide(world.actor, slide.id)
        (left,) = world.tenants.list_slides(world.actor, q=None, state=SlideState.DELETED, cursor=None, limit=10).items
        assert left == world.tenants.get_slide(world.actor, slide.id)
        assert left.name == str(slide.id)
        assert [(file.name, file.uri, file.size) for file in left.files] == [("00000", "", slide.files[0].size)]
        assert (left.digest, left.inspection, left.thumbnail_key, left.mpp, left.choice) == (None,) * 5
        assert (
            world.tenants.list_slides(world.actor, q="smith", state=SlideState.DELETED, cursor=None, limit=10).items
            == ()
        )

    def test_why_a_deleted_slide_was_refused_goes_too(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        world.system.reject_slide(slide.id, RejectReason.NO_MPP, "“Smith” is no scale.")
        world.tenants.delete_slide(world.actor, slide.id)
        left = world.tenants.get_slide(world.actor, slide.id)
        assert (left.reason, left.sentence) == (None, None)

    def test_an_upload_that_is_deleted_can_still_be_aborted(self, world: LedgerWorld) -> None:
        slide = uploading_slide(world)
        (file,) = world.tenants.delete_slide(world.actor, slide.id).files
        assert (file.name, file.uri, file.upload_id) == ("00000", slide.files[0].uri, slide.files[0].upload_id)

    def test_an_abandoned_upload_has_no_name_either(self, world: LedgerWorld) -> None:
        slide = uploading_slide(world, name="Smith, John")
        world.pass_time(4 * DAY)
        world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=DAY)
        left = world.tenants.get_slide(world.actor, slide.id)
        assert (left.state, left.name, left.files[0].name) == (SlideState.DELETED, str(slide.id), "00000")

    def test_the_jobs_of_a_deleted_slide_are_gone_with_their_labels_and_results(self, world: LedgerWorld) -> None:
        slide, job = slide_with_a_job(world)
        world.tenants.delete_slide(world.actor, slide.id)
        for read in (
            world.tenants.get_job,
            world.tenants.list_results,
            world.tenants.list_finished_shards,
            world.tenants.list_deliveries,
            lambda actor, job_id: world.tenants.list_job_events(actor, job_id, after=0, limit=10),
        ):
            with pytest.raises(NotFound, match="deleted"):
                read(world.actor, job.id)
        assert listed(world) == listed(world, label="John Smith") == listed(world, q="smith") == []
        assert world.tenants.list_deleted_jobs(world.actor, slide.id, limit=10) == (job.id,)
        assert world.tenants.list_deleted_jobs(world.other, slide.id, limit=10) == ()

    def test_a_deleted_job_is_gone_and_its_slide_stays(self, world: LedgerWorld) -> None:
        slide, job = slide_with_a_job(world)
        other = completed_job(world, slide=slide, identity="of another question")
        world.tenants.delete_job(world.actor, job.id)
        world.tenants.delete_job(world.actor, job.id)
        assert listed(world) == [other.id]
        assert world.tenants.list_results(world.actor, other.id) == (RESULT,)
        assert world.tenants.get_slide(world.actor, slide.id) == slide
        assert world.audit_lines(world.actor)[-1] == (world.actor.subject, "job.delete", str(job.id))
        assert [line[1] for line in world.audit_lines(world.actor)].count("job.delete") == 1

    def test_of_a_deleted_job_counts_stay_and_no_text(self, world: LedgerWorld) -> None:
        options = JobOptions(choice=Choice(optical_path="Smith"))
        job = failed_job(world, options=options, label="Smith", notify_webhook="https://smith.example")
        world.tenants.delete_job(world.actor, job.id)
        world.pass_time(301)
        (left,) = world.system.claim_deleted_jobs(seconds=300, limit=10)
        assert (left.id, left.state, left.reason, left.tiles_planned) == (job.id, job.state, job.reason, 15)
        assert (left.label, left.notify_webhook, left.options) == (None, None, JobOptions())
        assert left.sentence == "The job was deleted."
        assert (left.identity, left.plan_key, left.plan_digest) == ("", None, None)

    def test_an_equal_job_is_not_answered_by_a_deleted_one(self, world: LedgerWorld) -> None:
        slide, job = slide_with_a_job(world)
        assert submit(world, new_job(slide)).job.id == job.id
        world.tenants.delete_job(world.actor, job.id)
        assert not submit(world, new_job(slide)).reused

    def test_a_key_is_free_again_once_its_job_is_deleted(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        job = submit(world, new_job(slide), key="smith-1").job
        world.tenants.cancel_job(world.actor, job.id)
        world.tenants.delete_job(world.actor, job.id)
        assert submit(world, new_job(slide), key="smith-1", body="another").job.id != job.id

    def test_a_live_job_is_not_deleted(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        with pytest.raises(Conflict, match="cancel it first"):
            world.tenants.delete_job(world.actor, job.id)
        world.tenants.cancel_job(world.actor, job.id)
        world.tenants.delete_job(world.actor, job.id)

    def test_a_job_stays_while_another_takes_over_what_it_finished(self, world: LedgerWorld) -> None:
        first = failed_job(world)
        slide = world.tenants.get_slide(world.actor, first.slide_id)
        second = submit(world, new_job(slide, retry_of=first.id), reuse=False).job
        world.tenants.cancel_job(world.actor, second.id)
        third = submit(world, new_job(slide, retry_of=second.id), reuse=False).job
        for job in (first, second):
            with pytest.raises(Conflict, match="takes over"):
                world.tenants.delete_job(world.actor, job.id)
        world.tenants.cancel_job(world.actor, third.id)
        world.tenants.delete_job(world.actor, first.id)

    def test_nothing_is_taken_over_from_a_deleted_job(self, world: LedgerWorld) -> None:
        first = failed_job(world)
        slide = world.tenants.get_slide(world.actor, first.slide_id)
        world.tenants.delete_job(world.actor, first.id)
        with pytest.raises(NotFound):
            submit(world, new_job(slide, retry_of=first.id), reuse=False)
        assert plan(world, queued_job(world, slide=slide).id, (10, 5)).shards_remaining == 2

    def test_nobody_deletes_or_holds_what_is_anothers(self, world: LedgerWorld) -> None:
        slide, job = slide_with_a_job(world)
        for attempt in (
            lambda: world.tenants.delete_job(world.other, job.id),
            lambda: world.tenants.delete_job(world.actor, uuid4()),
            lambda: world.tenants.set_legal_hold(world.other, slide.id, held=True),
        ):
            with pytest.raises(NotFound):
                attempt()
        assert listed(world) == [job.id]

    def test_a_legal_hold_keeps_the_slide_and_its_jobs(self, world: LedgerWorld) -> None:
        slide, job = slide_with_a_job(world)
        assert world.tenants.set_legal_hold(world.actor, slide.id, held=True).legal_hold
        assert world.tenants.set_legal_hold(world.actor, slide.id, held=True).version == slide.version
        for attempt in (
            lambda: world.tenants.delete_slide(world.actor, slide.id),
            lambda: world.tenants.delete_job(world.actor, job.id),
        ):
            with pytest.raises(Conflict, match="legal hold"):
                attempt()
        assert not world.tenants.set_legal_hold(world.actor, slide.id, held=False).legal_hold
        world.tenants.delete_job(world.actor, job.id)
        world.tenants.delete_slide(world.actor, slide.id)
        actions = [action for _, action, _ in world.audit_lines(world.actor)]
        assert actions[-4:] == ["slide.hold", "slide.end_hold", "job.delete", "slide.delete"]

    def test_a_hold_begins_once_the_slide_is_inspected(self, world: LedgerWorld) -> None:
        deleted = ready_slide(world)
        world.tenants.delete_slide(world.actor, deleted.id)
        for slide in (uploading_slide(world), uploaded_slide(world), deleted):
            with pytest.raises(Conflict):
                world.tenants.set_legal_hold(world.actor, slide.id, held=True)
            assert not world.tenants.set_legal_hold(world.actor, slide.id, held=False).legal_hold

    def test_what_was_deleted_is_looked_at_until_nothing_writes_any_more(self, world: LedgerWorld) -> None:
        slide, job = slide_with_a_job(world)
        world.tenants.delete_slide(world.actor, slide.id)
        assert claimed(world) == ([], [])  # its deleter is at it
        world.pass_time(301)
        assert claimed(world) == ([slide.id], [job.id])
        assert claimed(world) == ([], [])
        world.pass_time(301)  # that sweep died
        assert claimed(world) == ([slide.id], [job.id])
        assert not world.system.record_slide_erasure(slide.id, late_seconds=HOUR)
        assert not world.system.record_job_erasure(job.id, late_seconds=HOUR)
        world.pass_time(HOUR - 602)
        assert claimed(world) == ([], [])
        world.pass_time(302)
        assert claimed(world) == ([slide.id], [job.id])
        assert world.system.record_slide_erasure(slide.id, late_seconds=HOUR)
        assert world.system.record_job_erasure(job.id, late_seconds=HOUR)
        world.pass_time(DAY)
        assert claimed(world) == ([], [])
        assert world.tenants.list_deleted_jobs(world.actor, slide.id, limit=10) == ()


class RetentionContract:
    def test_without_a_period_nothing_is_deleted(self, world: LedgerWorld) -> None:
        slide_with_a_job(world)
        world.pass_time(10_000 * DAY)
        expired = world.system.delete_expired(limit=10)
        assert (expired.slides_expired, expired.jobs_expired, expired.keys_expired) == (0, 0, 0)

    def test_slides_go_with_their_jobs_when_their_time_is_over(self, world: LedgerWorld) -> None:
        world.set_retention(world.actor, Retention(slide_days=30))
        slide, job = slide_with_a_job(world)
        theirs = ready_slide(world, actor=world.other)
        world.pass_time(29 * DAY)
        young = ready_slide(world)
        assert world.system.delete_expired(limit=10).slides_expired == 0
        world.pass_time(2 * DAY)
        assert world.system.delete_expired(limit=10).slides_expired == 1
        assert world.tenants.get_slide(world.actor, slide.id).name == str(slide.id)
        assert listed(world) == []
        assert world.tenants.get_slide(world.actor, young.id).state is SlideState.READY
        assert world.tenants.get_slide(world.other, theirs.id).state is SlideState.READY
        assert world.audit_lines(world.actor)[-1] == ("system:retention", "slide.delete", str(slide.id))
        assert job.id in world.tenants.list_deleted_jobs(world.actor, slide.id, limit=10)

    def test_results_go_before_their_slide(self, world: LedgerWorld) -> None:
        world.set_retention(world.actor, Retention(result_days=7))
        slide, job = slide_with_a_job(world)
        world.pass_time(8 * DAY)
        live = queued_job(world, slide=slide)
        assert world.system.delete_expired(limit=10).jobs_expired == 1
        assert listed(world) == [live.id]
        assert world.tenants.get_slide(world.actor, slide.id).state is SlideState.READY
        assert world.audit_lines(world.actor)[-1] == ("system:retention", "job.delete", str(job.id))

    def test_what_is_held_or_read_outlives_its_time(self, world: LedgerWorld) -> None:
        world.set_retention(world.actor, Retention(slide_days=1, result_days=1))
        held, kept = slide_with_a_job(world)
        world.tenants.set_legal_hold(world.actor, held.id, held=True)
        retried = failed_job(world)
        read = world.tenants.get_slide(world.actor, retried.slide_id)
        world.pass_time(2 * DAY)
        live = submit(world, new_job(read, retry_of=retried.id), reuse=False).job
        expired = world.system.delete_expired(limit=10)
        assert (expired.slides_expired, expired.jobs_expired) == (0, 0)
        assert set(listed(world)) == {kept.id, retried.id, live.id}
        assert live.state is JobState.QUEUED

    def test_a_run_deletes_a_bounded_number(self, world: LedgerWorld) -> None:
        world.set_retention(world.actor, Retention(slide_days=1))
        for _ in range(3):
            ready_slide(world)
        world.pass_time(2 * DAY)
        assert [world.system.delete_expired(limit=2).slides_expired for _ in range(3)] == [2, 1, 0]

    def test_old_keys_are_forgotten(self, world: LedgerWorld) -> None:
        world.set_retention(world.actor, Retention(key_days=30))
        slide = ready_slide(world)
        submit(world, new_job(slide), key="old", reuse=False)
        world.pass_time(31 * DAY)
        again = submit(world, new_job(slide), key="new", reuse=False).job
        assert world.system.delete_expired(limit=10).keys_expired == 1
        assert submit(world, new_job(slide), key="new", reuse=False).job.id == again.id
        assert submit(world, new_job(slide), key="old", body="another", reuse=False).job.id != again.id

    def test_what_is_to_expire_can_be_claimed_before(self, world: LedgerWorld) -> None:
        """So that somebody can ask S3 first whether it would be deleted."""
        world.set_retention(world.actor, Retention(slide_days=30, result_days=7))
        (slide, job), (held, _) = slide_with_a_job(world), slide_with_a_job(world)
        world.tenants.set_legal_hold(world.actor, held.id, held=True)
        assert claimed_to_expire(world) == ([], [])
        world.pass_time(8 * DAY)
        assert claimed_to_expire(world) == ([], [job.id])
        world.pass_time(23 * DAY)
        assert claimed_to_expire(world) == ([slide.id], [job.id])
        assert claimed_to_expire(world) == ([], [])
        world.pass_time(HOUR + 1)
        assert claimed_to_expire(world) == ([slide.id], [job.id])
        left = world.tenants.get_slide(world.actor, slide.id), world.tenants.get_job(world.actor, job.id)
        assert [(one.state, one.version) for one in left] == [(one.state, one.version) for one in (slide, job)]

    def test_those_that_were_claimed_the_longest_ago_come_first(self, world: LedgerWorld) -> None:
        """So that what is locked for years keeps nothing else from expiring."""
        world.set_retention(world.actor, Retention(slide_days=1))
        first, second = ready_slide(world), ready_slide(world)
        world.pass_time(2 * DAY)
        for expected in (first, second):
            (slide,) = world.system.claim_expired_slides(seconds=HOUR, limit=1)
            assert slide.id == expected.id
            world.pass_time(1)

    def test_only_what_is_named_expires(self, world: LedgerWorld) -> None:
        world.set_retention(world.actor, Retention(slide_days=1, result_days=1))
        (slide, _), (locked, kept) = slide_with_a_job(world), slide_with_a_job(world)
        other = completed_job(world, slide=locked, identity="of another question")
        world.pass_time(2 * DAY)
        young = ready_slide(world)
        assert world.system.delete_expired(limit=10, among=[]).slides_expired == 0
        expired = world.system.delete_expired(limit=10, among=[slide.id, other.id, young.id])
        assert (expired.slides_expired, expired.jobs_expired) == (1, 1)
        assert world.tenants.get_slide(world.actor, locked.id).state is SlideState.READY
        assert world.system.list_kept_jobs(locked.id) == (kept.id,)
        assert world.system.list_kept_jobs(slide.id) == ()
