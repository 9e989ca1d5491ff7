"""The ledger contract: slides that go to the archive and come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.contracts.ledger_world import (
    LedgerWorld,
    new_job,
    queued_job,
    ready_slide,
    submit,
    uploaded_slide,
    uploading_slide,
)
from wsi.errors import Conflict, NotFound, RejectReason
from wsi.records.slides import RestoreTier, Slide
from wsi.states import SlideState

DAY = 86_400.0


def archived_slide(world: LedgerWorld) -> Slide:
    return world.tenants.archive_slide(world.actor, ready_slide(world).id)


def restoring_slide(world: LedgerWorld, tier: RestoreTier = RestoreTier.STANDARD) -> Slide:
    return world.tenants.restore_slide(world.actor, archived_slide(world).id, tier)


def restored_slide(world: LedgerWorld, *, days: float = 30) -> Slide:
    slide = restoring_slide(world)
    assert world.system.finish_restore(slide.id, until=datetime.now(UTC) + timedelta(days=days))
    return world.tenants.get_slide(world.actor, slide.id)


def looked_at(world: LedgerWorld, *, limit: int = 10) -> list[object]:
    return [slide.id for slide in world.system.claim_restoring_slides(seconds=300, limit=limit)]


def expired(world: LedgerWorld, *, limit: int = 10) -> list[object]:
    return [slide.id for slide in world.system.expire_restored(seconds=DAY, limit=limit)]


class ArchiveLedgerContract:
    def test_a_ready_slide_is_archived_once(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        archived = world.tenants.archive_slide(world.actor, slide.id)
        assert (archived.state, archived.version) == (SlideState.ARCHIVED, slide.version + 1)
        assert archived.inspection == slide.inspection
        assert world.tenants.archive_slide(world.actor, slide.id) == archived

    def test_a_slide_that_a_live_job_reads_is_not_archived(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        with pytest.raises(Conflict, match="running"):
            world.tenants.archive_slide(world.actor, job.slide_id)
        world.tenants.cancel_job(world.actor, job.id)
        assert world.tenants.archive_slide(world.actor, job.slide_id).state is SlideState.ARCHIVED

    def test_only_what_is_ready_is_archived_and_only_what_is_archived_restored(self, world: LedgerWorld) -> None:
        rejected, deleted = uploaded_slide(world), ready_slide(world)
        world.system.reject_slide(rejected.id, RejectReason.NO_MPP, "No scale.")
        world.tenants.delete_slide(world.actor, deleted.id)
        neither = [uploading_slide(world), uploaded_slide(world), rejected, deleted]
        for slide in (*neither, restoring_slide(world)):
            with pytest.raises(Conflict):
                world.tenants.archive_slide(world.actor, slide.id)
        for slide in neither:
            with pytest.raises(Conflict):
                world.tenants.restore_slide(world.actor, slide.id, RestoreTier.STANDARD)

    def test_a_slide_is_asked_for_once_in_the_way_that_was_asked_for_first(self, world: LedgerWorld) -> None:
        slide = restoring_slide(world, RestoreTier.BULK)
        assert (slide.state, slide.restore_tier) == (SlideState.RESTORING, RestoreTier.BULK)
        assert world.tenants.restore_slide(world.actor, slide.id, RestoreTier.STANDARD) == slide

    def test_a_ready_slide_needs_no_restoring(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        assert world.tenants.restore_slide(world.actor, slide.id, RestoreTier.STANDARD) == slide

    def test_a_restored_slide_is_ready_until_its_copies_go(self, world: LedgerWorld) -> None:
        slide, until = restoring_slide(world), datetime(2030, 1, 1, tzinfo=UTC)
        assert world.system.finish_restore(slide.id, until=until)
        assert not world.system.finish_restore(slide.id, until=None)
        ready = world.tenants.get_slide(world.actor, slide.id)
        assert (ready.state, ready.restored_until, ready.restore_tier) == (SlideState.READY, until, None)
        assert queued_job(world, slide=ready).slide_id == ready.id

    def test_only_a_restoring_slide_is_restored(self, world: LedgerWorld) -> None:
        for slide in (uploaded_slide(world), archived_slide(world)):
            assert not world.system.finish_restore(slide.id, until=None)
            assert world.tenants.get_slide(world.actor, slide.id).state is slide.state

    def test_jobs_on_archived_slides_are_told_what_to_do(self, world: LedgerWorld) -> None:
        archived, slow = archived_slide(world), restoring_slide(world, RestoreTier.BULK)
        with pytest.raises(Conflict, match=f"POST /slides/{archived.id}/restore, .* 12 hours"):
            submit(world, new_job(archived))
        with pytest.raises(Conflict, match="48 hours"):
            submit(world, new_job(slow))

    def test_restoring_slides_are_looked_at_in_turn_and_not_too_often(self, world: LedgerWorld) -> None:
        archived_slide(world)
        first, second = restoring_slide(world), restoring_slide(world)
        assert looked_at(world) == []  # a request that marks files may still run
        world.pass_time(301)
        assert looked_at(world, limit=1) == [first.id]
        third = restoring_slide(world)
        assert looked_at(world) == [second.id]
        assert looked_at(world) == []
        world.pass_time(301)
        assert looked_at(world, limit=1) == [first.id]
        assert set(looked_at(world)) == {second.id, third.id}

    def test_a_slide_is_archived_again_before_its_copies_go(self, world: LedgerWorld) -> None:
        restored_slide(world, days=30)
        sooner, soon = restored_slide(world, days=0.5), restored_slide(world, days=0.9)
        ready_slide(world)  # needs no copy
        assert expired(world, limit=1) == [sooner.id]
        assert expired(world) == [soon.id]
        assert expired(world) == []
        again = world.tenants.get_slide(world.actor, soon.id)
        assert (again.state, again.restored_until) == (SlideState.ARCHIVED, None)

    def test_a_live_job_keeps_its_slide_from_being_archived_again(self, world: LedgerWorld) -> None:
        slide = restored_slide(world, days=0.5)
        job = queued_job(world, slide=slide)
        assert expired(world) == []
        later = restored_slide(world, days=0.9)
        assert expired(world, limit=1) == [later.id]  # the other takes no place in the run
        world.tenants.cancel_job(world.actor, job.id)
        assert expired(world) == [slide.id]

    def test_archived_and_restoring_slides_can_be_deleted(self, world: LedgerWorld) -> None:
        for slide in (archived_slide(world), restoring_slide(world), restored_slide(world, days=0.5)):
            assert world.tenants.delete_slide(world.actor, slide.id).state is SlideState.DELETED
        world.pass_time(301)
        assert looked_at(world) == expired(world) == []

    def test_other_tenants_slides_are_neither_archived_nor_restored(self, world: LedgerWorld) -> None:
        with pytest.raises(NotFound):
            world.tenants.archive_slide(world.other, ready_slide(world).id)
        with pytest.raises(NotFound):
            world.tenants.restore_slide(world.other, archived_slide(world).id, RestoreTier.STANDARD)

    def test_archiving_and_restoring_are_audited_once(self, world: LedgerWorld) -> None:
        slide = restoring_slide(world)
        world.tenants.restore_slide(world.actor, slide.id, RestoreTier.BULK)
        assert world.audit_lines(world.actor)[-2:] == [
            (world.actor.subject, action, str(slide.id)) for action in ("slide.archive", "slide.restore")
        ]
