"""The ledger contract: what operators watch."""

from __future__ import annotations

import pytest

from tests.contracts.ledger_lines import planned_job
from tests.contracts.ledger_world import (
    LedgerWorld,
    checkpoint,
    completed_job,
    lease,
    queued_job,
    running_job,
    stitching_job,
)
from wsi.errors import FailReason
from wsi.records.jobs import Priority
from wsi.records.operations.vitals import Vitals
from wsi.states import JobState

STALLED = 900.0


def vitals(world: LedgerWorld, seconds: float = 60) -> Vitals:
    return world.system.measure_vitals(seconds=seconds, stalled_seconds=STALLED)


class VitalsContract:
    def test_an_installation_without_jobs_has_a_zero_for_each_state(self, world: LedgerWorld) -> None:
        found = vitals(world)
        assert {*found.live, *found.finished} == set(JobState)
        assert {*found.live.values(), *found.finished.values()} == {0}
        assert (found.waiting, found.stalled, found.tiles, found.outbox_seconds) == (0, 0, 0, 0.0)
        assert found.first_lease_seconds == found.result_seconds == ()

    def test_every_job_is_counted_once_by_its_state(self, world: LedgerWorld) -> None:
        queued_job(world)
        lease(world, running_job(world), 0)
        running_job(world)
        stitching_job(world)
        completed_job(world, unreadable=3)
        failed = queued_job(world)
        assert world.system.fail_job(failed.id, FailReason.PLANNING_FAILED, "It could not be planned.")
        found = vitals(world)
        assert {state: n for state, n in found.live.items() if n} == {
            JobState.QUEUED: 1,
            JobState.RUNNING: 2,
            JobState.STITCHING: 1,
        }
        assert {state: n for state, n in found.finished.items() if n} == {
            JobState.COMPLETED_WITH_UNREADABLE_TILES: 1,
            JobState.FAILED: 1,
        }
        assert found.waiting == 1

    def test_what_ended_before_the_time_asked_about_is_not_counted_again(self, world: LedgerWorld) -> None:
        completed_job(world)
        world.pass_time(61)
        found = vitals(world)
        assert found.finished[JobState.COMPLETED] == 0
        assert (found.tiles, found.result_seconds, found.first_lease_seconds) == (0, (), ())
        assert vitals(world, seconds=3600).finished[JobState.COMPLETED] == 1

    def test_times_count_from_when_the_job_was_asked_for(self, world: LedgerWorld) -> None:
        job = running_job(world, (10,))
        world.pass_time(100)
        held = lease(world, job, 0, seconds=600)
        assert vitals(world).first_lease_seconds == (pytest.approx(100, abs=5),)
        world.pass_time(200)
        assert world.system.fail_job(job.id, FailReason.POISON_SHARD, "It failed.")
        assert vitals(world).result_seconds == ()  # a failure is no result
        completed_job(world)
        assert vitals(world).result_seconds == (pytest.approx(0, abs=5),)
        assert held.attempt == 1

    def test_tiles_are_those_with_a_result(self, world: LedgerWorld) -> None:
        completed_job(world, sizes=(10, 5), unreadable=3)
        assert vitals(world).tiles == 12

    def test_the_outbox_is_as_old_as_its_oldest_unsent_row(self, world: LedgerWorld) -> None:
        queued_job(world)
        world.pass_time(120)
        queued_job(world)
        assert vitals(world).outbox_seconds == pytest.approx(120, abs=5)
        world.system.mark_sent([row.id for row in world.system.claim_outbox(limit=1000, seconds=30)])
        assert vitals(world).outbox_seconds == 0

    def test_a_line_is_as_old_as_what_waits_longest_in_it(self, world: LedgerWorld) -> None:
        planned_job(world, 2, priority=Priority.LOW)
        world.pass_time(300)
        planned_job(world, 2, priority=Priority.LOW)
        found = vitals(world).line_seconds
        assert found == {Priority.HIGH: 0, Priority.NORMAL: 0, Priority.LOW: pytest.approx(300, abs=5)}
        world.system.admit_shards(in_flight=10)
        assert set(vitals(world).line_seconds.values()) == {0}

    def test_a_job_that_nothing_moves_is_stalled(self, world: LedgerWorld) -> None:
        queued_job(world)
        stitching_job(world)
        world.pass_time(STALLED - 60)
        assert vitals(world).stalled == 0
        world.pass_time(120)
        assert vitals(world).stalled == 2

    def test_a_worker_that_holds_a_shard_and_reports_nothing_stalls_its_job(self, world: LedgerWorld) -> None:
        held = lease(world, running_job(world), 0, seconds=10_000)
        world.pass_time(STALLED + 60)
        assert vitals(world).stalled == 1
        assert checkpoint(world, held, done=1)
        assert vitals(world).stalled == 0

    def test_who_waits_while_workers_are_busy_with_others_is_not_stalled(self, world: LedgerWorld) -> None:
        running_job(world)
        busy = lease(world, running_job(world), 0, seconds=10_000)
        world.pass_time(STALLED + 60)
        assert checkpoint(world, busy, done=1)
        found = vitals(world)
        assert (found.waiting, found.stalled) == (1, 0)
        assert world.system.release_shard(busy, reason="the worker is leaving", failed=False)
        assert vitals(world).waiting == 2
        assert vitals(world).stalled == 1  # nobody computes anything any more
