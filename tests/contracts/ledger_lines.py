"""The ledger contract: tenants' lines, and who is admitted from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.contracts.ledger_world import PLAN_DIGEST, LedgerWorld, commit, lease, new_job, ready_slide, submit
from wsi.records.identity import Actor
from wsi.records.jobs import Job, Priority
from wsi.records.shards import Lease


def planned_job(
    world: LedgerWorld, shards: int, *, actor: Actor | None = None, priority: Priority = Priority.NORMAL
) -> Job:
    """A RUNNING job whose shards all wait in their tenant's line."""
    actor = actor or world.actor
    job = submit(world, new_job(ready_slide(world, actor=actor), priority=priority), reuse=False, actor=actor).job
    assert world.system.begin_planning(job.id)
    assert world.system.commit_plan(job.id, plan_key="plan", plan_digest=PLAN_DIGEST, shard_tiles=[4] * shards)
    return job


def sent(world: LedgerWorld) -> list[dict[str, Any]]:
    return [body for topic, body in world.outbox() if topic.startswith("shards-")]


def count_by_job(world: LedgerWorld, jobs: Sequence[Job]) -> list[int]:
    counts = Counter(body["job_id"] for body in sent(world))
    return [counts[str(job.id)] for job in jobs]


def end(world: LedgerWorld, job: Job, index: int) -> None:
    assert commit(world, lease(world, job, index))


class LinesContract:
    def test_planned_shards_wait_until_they_are_admitted(self, world: LedgerWorld) -> None:
        job = planned_job(world, 3)
        assert sent(world) == []
        assert world.system.admit_shards(in_flight=10) == 3
        assert sent(world) == [{"v": 1, "job_id": str(job.id), "shard": index} for index in range(3)]
        assert world.system.admit_shards(in_flight=10) == 0

    def test_no_more_are_in_flight_than_allowed_and_each_end_lets_the_next_one_go(self, world: LedgerWorld) -> None:
        job = planned_job(world, 5)
        assert world.system.admit_shards(in_flight=2) == 2
        held = lease(world, job, 0)
        assert world.system.admit_shards(in_flight=2) == 0, "a leased shard is in flight too"
        assert commit(world, held)
        assert world.system.admit_shards(in_flight=2) == 1
        assert [body["shard"] for body in sent(world)] == [0, 1, 2]

    def test_one_tenant_alone_has_all_and_shares_once_another_waits(self, world: LedgerWorld) -> None:
        first = planned_job(world, 12)
        assert world.system.admit_shards(in_flight=4) == 4
        second = planned_job(world, 12, actor=world.other)
        assert world.system.admit_shards(in_flight=4) == 1, "nobody waits for the shards of others to end"
        for index in range(2):
            end(world, first, index)
            world.system.admit_shards(in_flight=4)
        assert count_by_job(world, [first, second]) == [4, 2], "two of each are in flight"
        for index in range(3):
            for job, others in ((first, 2), (second, 0)):
                end(world, job, index + others)
                assert world.system.admit_shards(in_flight=4) == 1
        assert count_by_job(world, [first, second]) == [4 + 3, 2 + 3]

    def test_what_a_tenant_does_not_use_goes_to_the_others(self, world: LedgerWorld) -> None:
        few, many = planned_job(world, 1), planned_job(world, 20, actor=world.other)
        assert world.system.admit_shards(in_flight=8) == 8
        assert count_by_job(world, [few, many]) == [1, 7]

    def test_of_equal_tenants_the_one_that_was_admitted_longest_ago_goes_first(self, world: LedgerWorld) -> None:
        jobs = [planned_job(world, 9), planned_job(world, 9, actor=world.other)]
        done = [0, 0]
        order: list[int] = []
        world.system.admit_shards(in_flight=3)
        counts = count_by_job(world, jobs)
        for _ in range(6):
            ahead = max(range(2), key=lambda place: counts[place] - done[place])
            end(world, jobs[ahead], done[ahead])
            done[ahead] += 1
            world.pass_time(1)
            assert world.system.admit_shards(in_flight=3) == 1
            after = count_by_job(world, jobs)
            order.append(0 if after[0] > counts[0] else 1)
            counts = after
        assert abs(order.count(0) - order.count(1)) <= 1, "the odd place goes round"

    def test_each_priority_has_its_own_places(self, world: LedgerWorld) -> None:
        planned_job(world, 9, priority=Priority.HIGH)
        low = planned_job(world, 9, priority=Priority.LOW)
        assert world.system.admit_shards(in_flight=2) == 4
        topics = Counter(topic for topic, _ in world.outbox() if topic.startswith("shards-"))
        assert topics == {"shards-high": 2, "shards-low": 2}
        assert count_by_job(world, [low]) == [2]

    def test_a_line_is_served_in_the_order_in_which_its_jobs_were_planned(self, world: LedgerWorld) -> None:
        first, second = planned_job(world, 2), planned_job(world, 2)
        for _ in range(4):
            world.system.admit_shards(in_flight=1)
            newest = sent(world)[-1]
            end(world, first if newest["job_id"] == str(first.id) else second, newest["shard"])
        assert [(body["job_id"], body["shard"]) for body in sent(world)] == [
            (str(job.id), index) for job in (first, second) for index in range(2)
        ]

    def test_a_released_shard_keeps_its_place(self, world: LedgerWorld) -> None:
        job = planned_job(world, 3)
        assert world.system.admit_shards(in_flight=1) == 1
        assert world.system.release_shard(lease(world, job, 0), reason="the worker is leaving", failed=False)
        assert [body["shard"] for body in sent(world)] == [0, 0], "its message goes at once"
        assert world.system.admit_shards(in_flight=1) == 0

    def test_a_job_that_ends_early_leaves_line_and_places_to_others(self, world: LedgerWorld) -> None:
        first, second = planned_job(world, 4), planned_job(world, 4)
        assert world.system.admit_shards(in_flight=2) == 2
        world.tenants.cancel_job(world.actor, first.id)
        assert world.system.admit_shards(in_flight=2) == 2
        assert count_by_job(world, [first, second]) == [2, 2]

    def test_the_sweep_sends_again_what_was_admitted_and_nothing_that_waits(self, world: LedgerWorld) -> None:
        planned_job(world, 3)
        assert world.system.admit_shards(in_flight=1) == 1
        world.pass_time(901)
        swept = world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=86_400 * 5)
        assert swept.messages_resent == 1
        assert [body["shard"] for body in sent(world)] == [0, 0]

    def test_a_shard_that_is_leased_from_its_line_leaves_it(self, world: LedgerWorld) -> None:
        """As after a rollback, whose sweep sends the messages of all."""
        job = planned_job(world, 2)
        held = lease(world, job, 0)
        assert world.system.release_shard(held, reason="the worker is leaving", failed=False)
        assert world.system.admit_shards(in_flight=1) == 0
        assert isinstance(world.system.lease_shard(job.id, 0, owner="w", seconds=60), Lease)

    def test_relays_side_by_side_admit_no_more_than_one(self, world: LedgerWorld) -> None:
        planned_job(world, 40)
        planned_job(world, 40, actor=world.other)
        with ThreadPoolExecutor(8) as pool:
            admitted = list(pool.map(lambda _: world.system.admit_shards(in_flight=6), range(8)))
        assert sum(admitted) == 6
        assert len(sent(world)) == 6
