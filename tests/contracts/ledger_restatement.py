"""The ledger contract: another scale, image or name is stated for a slide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.contracts.ledger_world import (
    INSPECTION,
    LedgerWorld,
    completed_job,
    files,
    new_job,
    queued_job,
    ready_slide,
    submit,
    topics,
    uploaded_slide,
    uploading_slide,
)
from wsi.errors import Conflict, NotFound, RejectReason
from wsi.records.restatement import Restatement
from wsi.records.slides import Choice, RestoreTier, Slide
from wsi.states import SlideState


def rejected_slide(world: LedgerWorld) -> Slide:
    slide = uploaded_slide(world)
    assert world.system.reject_slide(slide.id, RejectReason.NO_MPP, "The slide has no scale.", version=slide.version)
    return world.tenants.get_slide(world.actor, slide.id)


def restated(world: LedgerWorld, slide: Slide, **stated: Any) -> Slide:
    return world.tenants.restate_slide(world.actor, slide.id, Restatement(**stated))


def accepted(world: LedgerWorld, slide: Slide) -> Slide:
    assert world.system.accept_slide(slide.id, INSPECTION, "again.jpeg", version=slide.version)
    return world.tenants.get_slide(world.actor, slide.id)


class RestatementLedgerContract:
    def test_a_rejected_slide_is_inspected_again_with_the_stated_scale(self, world: LedgerWorld) -> None:
        rejected = rejected_slide(world)
        slide = restated(world, rejected, mpp=0.25)
        assert slide == world.tenants.get_slide(world.actor, slide.id) == world.system.find_uninspected_slide(slide.id)
        assert (slide.state, slide.mpp, slide.version) == (SlideState.UPLOADED, 0.25, rejected.version + 1)
        assert (slide.reason, slide.sentence) == (None, None)
        assert topics(world, "inspect") == [{"v": 1, "slide_id": str(slide.id)}] * 2
        line = (world.actor.subject, "slide.restate", str(slide.id))
        assert world.audit_lines(world.actor).count(line) == 1
        assert accepted(world, slide).state is SlideState.READY

    def test_a_ready_slide_loses_what_was_found_of_the_other_image(self, world: LedgerWorld) -> None:
        ready = ready_slide(world)
        slide = restated(world, ready, picture=2)
        assert (slide.state, slide.choice) == (SlideState.UPLOADED, Choice(picture=2))
        assert (slide.inspection, slide.thumbnail_key) == (None, None)
        assert (slide.files, slide.digest, slide.name) == (ready.files, ready.digest, ready.name)

    def test_fields_are_stated_one_by_one_and_taken_back_by_none(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        for stated, mpp, choice in (
            ({"mpp": 0.5, "optical_path": "Ä 1"}, 0.5, Choice(optical_path="Ä 1")),
            ({"focal_plane": 2}, 0.5, Choice(optical_path="Ä 1", focal_plane=2)),
            ({"mpp": None, "optical_path": None}, None, Choice(focal_plane=2)),
            ({"focal_plane": None}, None, None),
        ):
            slide = accepted(world, restated(world, slide, **stated))
            assert (slide.mpp, slide.choice) == (mpp, choice)

    def test_what_is_stated_again_changes_nothing_of_a_slide_that_is_ready_or_inspected(
        self, world: LedgerWorld
    ) -> None:
        slide = restated(world, ready_slide(world), mpp=0.25, picture=1)
        assert restated(world, slide, mpp=0.25) == slide  # as when the first answer was lost
        ready = accepted(world, slide)
        assert restated(world, ready, mpp=0.25, picture=1, focal_plane=None, name=ready.name) == ready
        assert len(topics(world, "inspect")) == 2
        assert len([line for line in world.audit_lines(world.actor) if line[1] == "slide.restate"]) == 1

    def test_a_rejected_slide_is_inspected_again_for_the_same_statement(self, world: LedgerWorld) -> None:
        assert restated(world, rejected_slide(world), mpp=None).state is SlideState.UPLOADED
        assert len(topics(world, "inspect")) == 2

    def test_a_name_alone_inspects_nothing_and_changes_in_any_state(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        for slide in (
            world.tenants.get_slide(world.actor, job.slide_id),
            rejected_slide(world),
            uploaded_slide(world),
            world.tenants.archive_slide(world.actor, ready_slide(world).id),
        ):
            before = len(topics(world, "inspect"))
            named = restated(world, slide, name="Case 8, block B")
            assert (named.name, named.state, named.version) == ("Case 8, block B", slide.state, slide.version + 1)
            assert named.inspection == slide.inspection
            assert len(topics(world, "inspect")) == before

    def test_a_slide_that_a_live_job_reads_stays_as_it_is(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        slide = world.tenants.get_slide(world.actor, job.slide_id)
        with pytest.raises(Conflict, match="running"):
            restated(world, slide, mpp=0.25, name="other")
        assert world.tenants.get_slide(world.actor, slide.id) == slide
        world.tenants.cancel_job(world.actor, job.id)
        assert restated(world, slide, mpp=0.25).state is SlideState.UPLOADED

    def test_a_slide_that_can_not_be_inspected_now_says_what_to_do(self, world: LedgerWorld) -> None:
        archived = world.tenants.archive_slide(world.actor, ready_slide(world).id)
        restoring = world.tenants.archive_slide(world.actor, ready_slide(world).id)
        world.tenants.restore_slide(world.actor, restoring.id, RestoreTier.BULK)
        deleted = world.tenants.delete_slide(world.actor, ready_slide(world).id)
        for slide, sentence in (
            (uploading_slide(world), "complete the upload"),
            (uploaded_slide(world), "is being inspected"),
            (archived, "restore it with POST"),
            (restoring, "is being restored"),
            (deleted, "was deleted"),
        ):
            held = world.tenants.get_slide(world.actor, slide.id)
            with pytest.raises(Conflict, match=sentence):
                restated(world, slide, mpp=0.25)
            assert world.tenants.get_slide(world.actor, slide.id) == held
        with pytest.raises(Conflict, match="was deleted"):
            restated(world, deleted, name="other")

    def test_a_slide_whose_files_a_refused_deidentification_deleted_stays_rejected(self, world: LedgerWorld) -> None:
        slide_id = uuid4()
        asked = files(slide_id)
        world.tenants.create_slide(world.actor, slide_id, "Case 9", asked, mpp=None, deidentify=True)
        etags = {asked[0].uri: "etag-0"}
        world.tenants.complete_upload(world.actor, slide_id, digest="abc-1", etags=etags)
        world.system.reject_slide(slide_id, RejectReason.SEVERAL_PICTURES, "It holds two images.", version=2)
        slide = world.tenants.get_slide(world.actor, slide_id)
        for stated in ({"picture": 1}, {"picture": None}):
            with pytest.raises(Conflict, match=r"files were deleted.*upload it again"):
                restated(world, slide, **stated)
        assert world.tenants.get_slide(world.actor, slide_id) == slide

    def test_a_restored_slide_keeps_the_day_on_which_its_copies_go(self, world: LedgerWorld) -> None:
        archived = world.tenants.archive_slide(world.actor, ready_slide(world).id)
        world.tenants.restore_slide(world.actor, archived.id, RestoreTier.BULK)
        until = datetime.now(UTC) + timedelta(days=30)
        world.system.finish_restore(archived.id, until=until)
        slide = restated(world, archived, mpp=0.25)
        assert world.system.expire_restored(seconds=31 * 86_400, limit=10) == ()  # inspection reads it
        assert accepted(world, slide).restored_until == until

    def test_a_slide_whose_copies_went_after_it_was_rejected_says_so(self, world: LedgerWorld) -> None:
        archived = world.tenants.archive_slide(world.actor, ready_slide(world).id)
        world.tenants.restore_slide(world.actor, archived.id, RestoreTier.BULK)
        world.system.finish_restore(archived.id, until=datetime.now(UTC) - timedelta(seconds=1))
        slide = restated(world, archived, picture=7)
        world.system.reject_slide(slide.id, RejectReason.NO_SUCH_CHOICE, "It has one image.", version=slide.version)
        with pytest.raises(Conflict, match=r"back to the archive.*upload it again"):
            restated(world, slide, picture=None)

    def test_an_inspection_of_what_was_stated_before_decides_nothing(self, world: LedgerWorld) -> None:
        """As when a function that hangs comes back after its message was received again."""
        slow = uploaded_slide(world)
        ready = accepted(world, slow)
        slide = restated(world, ready, picture=2)
        assert not world.system.accept_slide(slide.id, INSPECTION, "slow.jpeg", version=slow.version)
        assert not world.system.reject_slide(slide.id, RejectReason.NO_MPP, "No scale.", version=slow.version)
        assert world.tenants.get_slide(world.actor, slide.id) == slide

    def test_a_job_made_for_what_was_stated_before_is_refused(self, world: LedgerWorld) -> None:
        before = ready_slide(world)
        slide = accepted(world, restated(world, before, picture=2))
        with pytest.raises(Conflict, match="send the request again"):
            submit(world, new_job(before))
        assert submit(world, new_job(slide)).job.slide_id == slide.id

    def test_finished_jobs_stay_as_they_were(self, world: LedgerWorld) -> None:
        job = completed_job(world)
        results = world.tenants.list_results(world.actor, job.id)
        restated(world, world.tenants.get_slide(world.actor, job.slide_id), mpp=0.25)
        assert world.tenants.get_job(world.actor, job.id) == job
        assert world.tenants.list_results(world.actor, job.id) == results

    def test_a_repeated_complete_does_not_inspect_a_ready_slide_again(self, world: LedgerWorld) -> None:
        ready = ready_slide(world)
        assert world.tenants.complete_upload(world.actor, ready.id, digest="other", etags={}) == ready
        assert len(topics(world, "inspect")) == 1

    def test_an_abandoned_inspection_is_woken_again(self, world: LedgerWorld) -> None:
        slide = restated(world, rejected_slide(world), mpp=0.25)
        world.pass_time(1000)
        world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=86_400)
        assert topics(world, "inspect") == [{"v": 1, "slide_id": str(slide.id)}] * 3

    def test_other_tenants_slides_are_not_restated(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        with pytest.raises(NotFound):
            world.tenants.restate_slide(world.other, slide.id, Restatement(mpp=0.25))
        assert world.tenants.get_slide(world.actor, slide.id) == slide
