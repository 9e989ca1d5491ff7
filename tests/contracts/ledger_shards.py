"""The ledger contract: leases, checkpoints, commits, releases, progress, usage."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.contracts.ledger_world import (
    MODEL,
    LedgerWorld,
    checkpoint,
    commit,
    kinds,
    lease,
    running_job,
    stitching_job,
    topics,
)
from wsi.errors import FailReason
from wsi.ledger_rules import POISON_SILENCES
from wsi.records.notices import PUSH
from wsi.records.shards import Lease, LeaseRefusal, ShardCount
from wsi.states import JobState


class ShardLedgerContract:
    def test_lease_names_job_and_tiles(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 1)
        assert (held.job.id, held.index, held.attempt, held.tiles) == (job.id, 1, 1, 5)
        assert held.checkpoint_key is None
        assert world.tenants.get_job(world.actor, job.id).first_lease_at is not None
        event = world.tenants.list_job_events(world.actor, job.id, after=0, limit=100)[-1]
        assert event.kind == "shard_leased"
        assert event.detail == {"shard": 1, "attempt": 1, "owner": "worker-1"}

    def test_held_shard_is_held_and_settled_shard_is_settled(self, world: LedgerWorld) -> None:
        job = running_job(world)
        held = lease(world, job, 0)
        assert world.system.lease_shard(job.id, 0, owner="worker-2", seconds=60) is LeaseRefusal.HELD
        assert commit(world, held)
        assert world.system.lease_shard(job.id, 0, owner="worker-2", seconds=60) is LeaseRefusal.SETTLED
        for job_id, index in ((job.id, 99), (uuid4(), 0)):
            assert world.system.lease_shard(job_id, index, owner="w", seconds=60) is LeaseRefusal.SETTLED

    def test_one_of_many_workers_gets_the_shard(self, world: LedgerWorld) -> None:
        job = running_job(world)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: world.system.lease_shard(job.id, 0, owner=f"w{n}", seconds=60), range(8)))
        assert sum(isinstance(answer, Lease) for answer in answers) == 1
        assert answers.count(LeaseRefusal.HELD) == 7

    def test_expired_lease_is_taken_again_and_the_zombie_can_not_commit(self, world: LedgerWorld) -> None:
        job = running_job(world)
        zombie = lease(world, job, 0, owner="worker-1", seconds=30)
        world.pass_time(31)
        heir = lease(world, job, 0, owner="worker-2")
        assert heir.attempt == 2
        assert not world.system.extend_lease(zombie, seconds=60)
        assert not checkpoint(world, zombie, done=5)
        assert not world.system.release_shard(zombie, reason="late", failed=True)
        assert not commit(world, zombie)
        assert commit(world, heir)
        assert not commit(world, heir)
        (output,) = world.tenants.list_finished_shards(world.actor, job.id)
        assert output.result_key.endswith("/2")

    def test_heartbeat_keeps_the_lease(self, world: LedgerWorld) -> None:
        job = running_job(world)
        held = lease(world, job, 0, seconds=30)
        for _ in range(3):
            world.pass_time(20)
            assert world.system.extend_lease(held, seconds=30)
        assert world.system.lease_shard(job.id, 0, owner="worker-2", seconds=60) is LeaseRefusal.HELD
        assert commit(world, held)

    def test_released_shard_goes_back_to_its_queue(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        assert world.system.release_shard(lease(world, job, 1), reason="drained", failed=False)
        assert [body["shard"] for body in topics(world, "shards-high")] == [0, 1, 1]
        assert lease(world, job, 1).attempt == 2

    def test_next_attempt_resumes_from_the_furthest_checkpoint(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        first = lease(world, job, 0)
        assert checkpoint(world, first, done=6, unreadable=1, key="far")
        assert world.system.release_shard(first, reason="drained", failed=False)
        second = lease(world, job, 0)
        assert second.checkpoint_key == "far"
        # It could not read that one, began again and has come less far: the furthest one stays.
        assert checkpoint(world, second, done=2, key="near")
        assert world.tenants.get_job(world.actor, job.id).tiles_inferred == 5
        assert world.system.release_shard(second, reason="drained", failed=False)
        assert lease(world, job, 0).checkpoint_key == "far"

    def test_third_failure_is_poison(self, world: LedgerWorld) -> None:
        job = running_job(world)
        for attempt in range(3):
            assert world.tenants.get_job(world.actor, job.id).state is JobState.RUNNING
            assert world.system.release_shard(lease(world, job, 0), reason=f"crash {attempt}", failed=True)
        failed = world.tenants.get_job(world.actor, job.id)
        assert (failed.state, failed.reason) == (JobState.FAILED, FailReason.POISON_SHARD.value)
        assert failed.sentence
        assert kinds(world, job).count("shard_failed") == 3
        assert len(topics(world, "shards-high")) == 3 + 2
        assert world.system.lease_shard(job.id, 1, owner="w", seconds=60) is LeaseRefusal.SETTLED

    def test_releases_and_lost_leases_are_no_poison(self, world: LedgerWorld) -> None:
        job = running_job(world)
        for _ in range(4):
            assert world.system.release_shard(lease(world, job, 0), reason="spot", failed=False)
        for _ in range(4):
            lease(world, job, 0, seconds=30)
            world.pass_time(31)
        assert world.system.release_shard(lease(world, job, 0), reason="crash", failed=True)
        assert commit(world, lease(world, job, 0))
        assert world.tenants.get_job(world.actor, job.id).state is JobState.RUNNING

    def test_a_shard_that_ends_every_worker_is_poison_without_a_sweep_too(self, world: LedgerWorld) -> None:
        job = running_job(world)
        for _ in range(POISON_SILENCES):
            lease(world, job, 0, seconds=30)
            world.pass_time(31)
        assert world.system.lease_shard(job.id, 0, owner="w", seconds=60) is LeaseRefusal.SETTLED
        assert world.tenants.get_job(world.actor, job.id).reason == FailReason.POISON_SHARD.value

    def test_lost_workers_are_no_poison_while_the_shard_goes_forward(self, world: LedgerWorld) -> None:
        job = running_job(world)
        for lost in range(2 * POISON_SILENCES):
            held = lease(world, job, 0, seconds=30)
            if lost % 4 == 0:
                key, done = f"checkpoint-{lost}", 1 + lost // 4
                assert world.system.record_checkpoint(held, key=key, done=done, unreadable=0, tiles_per_second=None)
            world.pass_time(31)
        assert commit(world, lease(world, job, 0))

    def test_last_shard_moves_the_job_once(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 10, 5))
        held = [lease(world, job, index) for index in range(3)]
        assert commit(world, held[2])
        assert commit(world, held[0])
        assert not topics(world, "stitch")
        assert commit(world, held[1])
        assert not commit(world, held[1])
        assert topics(world, "stitch") == [{"v": 1, "job_id": str(job.id)}]
        stitching = world.tenants.get_job(world.actor, job.id)
        assert (stitching.state, stitching.shards_remaining) == (JobState.STITCHING, 0)
        assert stitching.tiles_inferred == stitching.tiles_planned == 25

    @pytest.mark.parametrize("output", ["embedding", "detection"])
    def test_results_that_may_be_gigabytes_are_put_together_from_queue_heavy(
        self, world: LedgerWorld, output: str
    ) -> None:
        model = replace(MODEL, name=output, card={"name": output, "output": output})
        world.system.register_model(model)
        job = stitching_job(world, model=output)
        assert job.state is JobState.STITCHING
        assert topics(world, "heavy") == [{"v": 1, "job_id": str(job.id)}]
        assert not topics(world, "stitch")
        world.pass_time(3600)
        assert world.system.sweep(upload_days=7, stuck_seconds=600, give_up_seconds=86_400).messages_resent == 1
        assert len(topics(world, "heavy")) == 2

    def test_shards_that_end_at_the_same_moment_stitch_once(self, world: LedgerWorld) -> None:
        job = running_job(world, [4] * 8)
        held = [lease(world, job, index) for index in range(8)]
        barrier = threading.Barrier(16)

        def deliver(one: Lease) -> bool:
            barrier.wait()
            return commit(world, one)

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(deliver, held + held))
        assert sum(answers) == 8
        assert len(topics(world, "stitch")) == 1

    def test_a_shard_that_does_not_add_up_is_refused(self, world: LedgerWorld) -> None:
        held = lease(world, running_job(world), 0)
        with pytest.raises(ValueError, match="cannot end with"):
            world.system.commit_shard(
                held, result_key="k", count=ShardCount(inferred=9, unreadable=0), tiles_per_second=None
            )

    def test_commits_are_events_and_checkpoints_are_not(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 0, owner="worker-7")
        before = kinds(world, job)
        assert checkpoint(world, held, done=5)
        assert kinds(world, job) == before
        assert commit(world, held)
        event = world.tenants.list_job_events(world.actor, job.id, after=0, limit=100)[-1]
        assert event.kind == "shard_committed"
        assert event.detail["shard"] == 0
        assert event.detail["attempt"] == 1
        assert event.detail["owner"] == "worker-7"

    def test_progress_is_monotone_and_pushed_at_most_once_a_second(self, world: LedgerWorld) -> None:
        job = running_job(world, (100,))
        held = lease(world, job, 0)
        world.pass_time(2)
        before = len(topics(world, PUSH))
        for done in (10, 20, 30):
            assert checkpoint(world, held, done=done, unreadable=done // 10, rate=50.0)
        assert len(topics(world, PUSH)) == before + 1
        world.pass_time(2)
        assert checkpoint(world, held, done=40, unreadable=4, rate=50.0)
        pushed = topics(world, PUSH)[-1]
        assert len(topics(world, PUSH)) == before + 2
        assert (pushed["tiles_inferred"], pushed["tiles_unreadable"]) == (36, 4)
        assert (pushed["progress"], pushed["tiles_per_second"], pushed["eta_seconds"]) == (0.4, 50.0, 1.2)
        now = world.tenants.get_job(world.actor, job.id)
        assert now.version == job.version
        assert now.progress_seq == pushed["progress_seq"] == 4

    def test_rates_of_workers_add_up_while_they_are_fresh(self, world: LedgerWorld) -> None:
        job = running_job(world, (100, 100, 100))
        one, two = lease(world, job, 0, owner="a", seconds=600), lease(world, job, 1, owner="b", seconds=600)
        assert checkpoint(world, one, done=10, rate=30.0)
        assert checkpoint(world, two, done=10, rate=12.0)
        assert world.tenants.get_job(world.actor, job.id).tiles_per_second == 42.0
        assert commit(world, one, rate=40.0)
        three = lease(world, job, 2, owner="a", seconds=600)
        assert checkpoint(world, three, done=10, rate=20.0)
        assert world.tenants.get_job(world.actor, job.id).tiles_per_second == 32.0
        world.pass_time(61)
        assert checkpoint(world, two, done=20, rate=12.0)
        assert world.tenants.get_job(world.actor, job.id).tiles_per_second == 12.0

    def test_usage_counts_tiles_and_seconds_of_commits(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 0)
        world.pass_time(20)
        assert commit(world, held, unreadable=1)
        assert commit(world, lease(world, job, 1))
        tiles, seconds = world.usage(world.actor)
        assert tiles == 15
        assert 20 <= seconds < 25
        assert world.usage(world.other) == (0, 0.0)
        assert world.tenants.get_job(world.actor, job.id).worker_seconds == pytest.approx(seconds, abs=0.1)

    def test_a_clock_that_goes_back_takes_no_time_off_what_was_used(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 0)
        world.pass_time(20)
        assert commit(world, held)
        held = lease(world, job, 1)
        world.pass_time(-60)
        assert commit(world, held)
        tiles, seconds = world.usage(world.actor)
        assert tiles == 15
        assert 20 <= seconds < 25
        assert 20 <= world.tenants.get_job(world.actor, job.id).worker_seconds < 25

    def test_time_of_an_attempt_that_finished_nothing_is_no_part_of_the_jobs(self, world: LedgerWorld) -> None:
        job = running_job(world, (10,))
        lost = lease(world, job, 0)
        assert checkpoint(world, lost, done=5, rate=1.0)
        world.pass_time(50)
        assert world.system.release_shard(lost, reason="it was asked to leave", failed=False)
        assert world.tenants.get_job(world.actor, job.id).worker_seconds == 0
        held = lease(world, job, 0)
        world.pass_time(7)
        assert commit(world, held)
        assert 7 <= world.tenants.get_job(world.actor, job.id).worker_seconds < 10
