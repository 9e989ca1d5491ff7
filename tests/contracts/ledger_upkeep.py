"""The ledger contract: outbox and sweep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.contracts.ledger_world import (
    HEAVY_OPTIONS,
    LARGE_INSPECTION,
    TRACE,
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
    uploading_slide,
)
from wsi.errors import FailReason, RejectReason
from wsi.ledger_rules import POISON_SILENCES
from wsi.ports.ledger import Swept
from wsi.records.notices import PUSH
from wsi.states import JobState, SlideState

DAY = 86_400.0


def sweep(world: LedgerWorld) -> Swept:
    return world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=5 * DAY)


class UpkeepContract:
    def test_outbox_rows_are_claimed_once_messages_before_pushes_each_oldest_first(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        queued_job(world)
        rows = world.system.claim_outbox(limit=2, seconds=30)
        rest = world.system.claim_outbox(limit=100, seconds=30)
        written = world.outbox()
        assert sorted({topic == PUSH for topic, _ in written[:3]}) == [False, True], "the order written is another"
        assert [(row.topic, row.body) for row in rows + rest] == sorted(written, key=lambda entry: entry[0] == PUSH)
        for kind in (True, False):
            ids = [row.id for row in rows + rest if (row.topic == PUSH) is kind]
            assert ids == sorted(set(ids))
        assert {row.tenant for row in rows + rest} == {job.tenant}
        assert rest[-1].traceparent == TRACE
        assert world.system.claim_outbox(limit=100, seconds=30) == ()

    def test_unsent_row_of_a_dead_relay_is_claimed_again(self, world: LedgerWorld) -> None:
        queued_job(world)
        first = world.system.claim_outbox(limit=100, seconds=30)
        world.system.mark_sent([row.id for row in first[1:]])
        world.pass_time(31)
        assert [row.id for row in world.system.claim_outbox(limit=100, seconds=30)] == [first[0].id]
        world.system.mark_sent([first[0].id])
        world.pass_time(31)
        assert world.system.claim_outbox(limit=100, seconds=30) == ()

    def test_a_released_row_is_claimed_at_once_and_a_sent_one_never(self, world: LedgerWorld) -> None:
        queued_job(world)
        sent, *tried, untried = world.system.claim_outbox(limit=100, seconds=30)
        world.system.mark_sent([sent.id])
        world.system.release_outbox([sent.id, untried.id])
        assert tried
        assert world.system.claim_outbox(limit=100, seconds=30) == (untried,)

    def test_relays_side_by_side_share_the_rows(self, world: LedgerWorld) -> None:
        running_job(world, [1] * 40)
        with ThreadPoolExecutor(8) as pool:
            claims = list(pool.map(lambda _: world.system.claim_outbox(limit=7, seconds=30), range(8)))
        ids = [row.id for rows in claims for row in rows]
        assert len(ids) == len(set(ids))
        assert len(ids) == min(8 * 7, len(world.outbox()))

    def test_an_update_that_can_not_be_sent_is_dropped_after_a_day_and_a_message_never(
        self, world: LedgerWorld
    ) -> None:
        queued_job(world)
        world.pass_time(0.9 * DAY)
        sweep(world)
        assert any(row.topic == PUSH for row in world.system.claim_outbox(limit=100, seconds=1))
        world.pass_time(0.2 * DAY)
        sweep(world)
        left = [row.topic for row in world.system.claim_outbox(limit=100, seconds=1)]
        assert PUSH not in left
        assert "plan" in left

    def test_nothing_to_repair(self, world: LedgerWorld) -> None:
        running_job(world)
        completed_job(world)
        assert sweep(world) == Swept()

    def test_expired_lease_goes_back_to_its_queue(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 0, owner="worker-1", seconds=60)
        lease(world, job, 1, seconds=600)
        assert sweep(world) == Swept()
        world.pass_time(61)
        assert sweep(world) == Swept(leases_expired=1)
        assert sweep(world) == Swept()
        assert [body["shard"] for body in topics(world, "shards-high")] == [0, 1, 0]
        assert kinds(world, job)[-1] == "shard_released"
        assert not commit(world, held)
        assert lease(world, job, 0).attempt == 2

    def test_lost_stitch_is_found(self, world: LedgerWorld) -> None:
        job = stitching_job(world)
        world.forget_stitching(job.id)
        assert sweep(world).stitches_woken == 1
        assert world.tenants.get_job(world.actor, job.id).state is JobState.STITCHING
        assert len(topics(world, "stitch")) == 2
        assert sweep(world) == Swept()

    def test_message_of_a_stuck_job_is_sent_again_once_a_period(self, world: LedgerWorld) -> None:
        job = queued_job(world)
        world.pass_time(800)
        assert sweep(world) == Swept()
        world.pass_time(200)
        assert sweep(world) == Swept(messages_resent=1)
        assert sweep(world) == Swept()
        assert topics(world, "plan") == [{"v": 1, "job_id": str(job.id)}] * 2
        world.pass_time(901)
        assert sweep(world) == Swept(messages_resent=1)

    def test_message_of_a_stuck_heavy_plan_goes_where_it_went_first(self, world: LedgerWorld) -> None:
        slide = ready_slide(world, inspection=LARGE_INSPECTION)
        queued, planning = (queued_job(world, slide=slide, options=HEAVY_OPTIONS) for _ in range(2))
        assert world.system.begin_planning(planning.id)
        world.pass_time(901)
        assert sweep(world) == Swept(messages_resent=2)
        sent = sorted(body["job_id"] for body in topics(world, "heavy"))
        assert sent == sorted([str(queued.id), str(planning.id)] * 2)
        assert topics(world, "plan") == []

    def test_every_stage_that_can_be_stuck_is_woken(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        planning = queued_job(world)
        assert world.system.begin_planning(planning.id)
        stitching = stitching_job(world)
        running = running_job(world, (10, 5))
        assert commit(world, lease(world, running, 0))
        sent = len(world.outbox())
        world.pass_time(901)
        assert sweep(world) == Swept(messages_resent=4)
        again = sorted((topic, body.get("job_id") or body["slide_id"]) for topic, body in world.outbox()[sent:])
        assert again == [
            ("inspect", str(slide.id)),
            ("plan", str(planning.id)),
            ("shards-high", str(running.id)),
            ("stitch", str(stitching.id)),
        ]

    def test_abandoned_upload_is_deleted(self, world: LedgerWorld) -> None:
        slide, finished = uploading_slide(world), completed_job(world)
        world.pass_time(2.9 * DAY)
        assert sweep(world) == Swept()
        fresh = uploading_slide(world)
        world.pass_time(0.2 * DAY)
        assert sweep(world) == Swept(uploads_abandoned=1)
        assert world.tenants.get_slide(world.actor, slide.id).state is SlideState.DELETED
        assert world.tenants.get_slide(world.actor, fresh.id).state is SlideState.UPLOADING
        assert world.tenants.get_slide(world.actor, finished.slide_id).state is SlideState.READY

    def test_what_nothing_moves_is_given_up(self, world: LedgerWorld) -> None:
        slide = uploaded_slide(world)
        planning = queued_job(world)
        assert world.system.begin_planning(planning.id)
        stitching, running = stitching_job(world), running_job(world)
        world.pass_time(4.9 * DAY)
        assert sweep(world).given_up == 0
        world.pass_time(0.2 * DAY)
        assert sweep(world).given_up == 3
        rejected = world.tenants.get_slide(world.actor, slide.id)
        assert (rejected.state, rejected.reason) == (SlideState.REJECTED, RejectReason.DAMAGED.value)
        reasons = {job.id: world.tenants.get_job(world.actor, job.id).reason for job in (planning, stitching, running)}
        assert reasons == {
            planning.id: FailReason.PLANNING_FAILED.value,
            stitching.id: FailReason.STITCHING_FAILED.value,
            running.id: None,
        }

    def test_a_shard_that_ends_every_worker_is_poison(self, world: LedgerWorld) -> None:
        job = running_job(world)
        for _ in range(POISON_SILENCES):
            assert world.tenants.get_job(world.actor, job.id).state is JobState.RUNNING
            lease(world, job, 0, seconds=60)
            world.pass_time(61)
            sweep(world)
        failed = world.tenants.get_job(world.actor, job.id)
        assert (failed.state, failed.reason) == (JobState.FAILED, FailReason.POISON_SHARD.value)
        assert kinds(world, job).count("shard_released") == POISON_SILENCES - 1
        assert kinds(world, job).count("shard_failed") == 1

    def test_with_a_poisoned_shard_the_silent_ones_beside_it_end_too(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        for _ in range(POISON_SILENCES - 1):
            lease(world, job, 0, seconds=60)
            world.pass_time(61)
            sweep(world)
        lease(world, job, 0, seconds=60)
        lease(world, job, 1, seconds=60)
        world.pass_time(61)
        assert sweep(world).leases_expired == 0
        assert world.tenants.get_job(world.actor, job.id).state is JobState.FAILED
        world.pass_time(901)
        assert sweep(world) == Swept()
