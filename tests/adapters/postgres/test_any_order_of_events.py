"""Jobs and shards of two tenants on a real Postgres, in any order of events: crashes, late and doubled messages, lost
leases, cancels and retries. Whatever happened, each tile counts once, and every job can still come to one end."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import PLAN_DIGEST, new_job, ready_slide, submit
from tests.postgres import PostgresServer
from wsi.records.identity import Actor
from wsi.records.jobs import Job, Priority
from wsi.records.results import ResultFile
from wsi.records.shards import Lease, ShardCount
from wsi.records.slides import Slide
from wsi.states import JobState, ShardState

LEASE_SECONDS = 60.0
SWEEP = {"upload_days": 7.0, "stuck_seconds": 600.0, "give_up_seconds": 10**9}
RESULT = ResultFile(name="tiles.csv.gz", key="results/tiles.csv.gz", size=10, sha256="r" * 64, media_type="text/csv")
STEPS, EXAMPLES = (100, 400) if os.environ.get("TESSERA_LONG_TESTS") else (40, 30)
MOST_JOBS = 4


@dataclass
class Seen:
    """What the ledger has said of a job so far."""

    actor: Actor
    slide: Slide
    version: int = 0
    end: JobState | None = None
    committed: Counter[int] = field(default_factory=Counter)  #: commits by shard that the ledger took
    tiles: int = 0  #: of these commits
    stitched: int = 0


class JobsInAnyOrder(RuleBasedStateMachine):
    """Rules are what processes do; none of them knows what the others did. `postgres` is set for the test."""

    postgres: PostgresServer

    jobs = Bundle("jobs")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.database = self.postgres.clone()
        self.world = PostgresWorld(self.database)
        self.seen: dict[UUID, Seen] = {}
        self.slides = [ready_slide(self.world, actor=one) for one in (self.world.actor, self.world.other)]

    def teardown(self) -> None:
        try:
            self.come_to_an_end()
        finally:
            self.world.close()
            self.postgres.drop(self.database)

    # --- people

    @initialize(target=jobs)
    def begin_with_a_job_each(self) -> Any:
        return multiple(*(self.ask_for_a_job(tenant, Priority.NORMAL, False, True) for tenant in (0, 1)))

    @precondition(lambda self: len(self.seen) < MOST_JOBS)
    @rule(
        target=jobs,
        tenant=st.integers(0, 1),
        priority=st.sampled_from(list(Priority)),
        key=st.booleans(),
        is_planned=st.sampled_from([True, True, False]),
    )
    def ask_for_a_job(self, tenant: int, priority: Priority, key: bool, is_planned: bool) -> UUID:
        actor = (self.world.actor, self.world.other)[tenant]
        asked = new_job(self.slides[tenant], priority=priority)
        job = submit(self.world, asked, actor=actor, reuse=False, key=str(asked.id) if key else None).job
        if key:  # the answer was lost, and the client asks again
            again = submit(self.world, asked, actor=actor, reuse=False, key=str(asked.id)).job
            assert again.id == job.id
        self.seen[job.id] = Seen(actor=actor, slide=self.slides[tenant])
        if is_planned:  # most of what can go wrong does so while shards run
            self.begin_planning(job.id)
            self.commit_plan(job.id, (7, 5))
            self.admit(4)
        return job.id

    @rule(job=jobs, is_meant=st.integers(0, 3))
    def cancel(self, job: UUID, is_meant: int) -> None:
        if is_meant or self.read(job).state.is_final:
            return
        assert self.world.tenants.cancel_job(self.seen[job].actor, job).state is JobState.CANCELLED

    @rule(target=jobs, job=jobs)
    def retry(self, job: UUID) -> Any:
        before = self.read(job)
        if before.state not in (JobState.FAILED, JobState.CANCELLED):
            return multiple()
        seen = self.seen[job]
        asked = new_job(seen.slide, retry_of=job, identity=before.identity)
        again = submit(self.world, asked, actor=seen.actor, reuse=False).job
        self.seen[again.id] = Seen(actor=seen.actor, slide=seen.slide)
        return again.id

    # --- functions

    @rule(job=jobs)
    def begin_planning(self, job: UUID) -> None:
        self.world.system.begin_planning(job)

    @rule(job=jobs, sizes=st.sampled_from([(7, 5), (4,)]))
    def commit_plan(self, job: UUID, sizes: tuple[int, ...]) -> None:
        before = self.read(job)
        taken = self.world.system.commit_plan(job, plan_key=f"{job}/plan", plan_digest=PLAN_DIGEST, shard_tiles=sizes)
        assert taken == (before.state is JobState.PLANNING)

    @rule(in_flight=st.integers(1, 4))
    def admit(self, in_flight: int) -> None:
        self.world.system.admit_shards(in_flight=in_flight)

    @rule(job=jobs)
    def stitch(self, job: UUID) -> None:
        was = self.read(job).state
        taken = self.world.system.commit_results(job, [RESULT])
        assert taken == (was is JobState.STITCHING)
        self.seen[job].stitched += taken

    @rule(rows=st.integers(1, 20), is_sent=st.booleans())
    def relay(self, rows: int, is_sent: bool) -> None:
        claimed = [row.id for row in self.world.system.claim_outbox(limit=rows, seconds=30)]
        (self.world.system.mark_sent if is_sent else self.world.system.release_outbox)(claimed)

    @rule(seconds=st.sampled_from([LEASE_SECONDS + 1, LEASE_SECONDS + 1, 700.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule()
    def sweep(self) -> None:
        self.world.system.sweep(**SWEEP)

    # --- workers

    @rule(target=leases, job=jobs, index=st.integers(0, 1), owner=st.sampled_from("abc"))
    def lease(self, job: UUID, index: int, owner: str) -> Any:
        """From a message that may be late, doubled, or of a job that ended."""
        taken = self.world.system.lease_shard(job, index, owner=owner, seconds=LEASE_SECONDS)
        return taken if isinstance(taken, Lease) else multiple()

    @rule(target=leases, job=jobs, index=st.integers(0, 1))
    def hang_and_be_replaced(self, job: UUID, index: int) -> Any:
        """Both workers believe that the shard is theirs; either may write first."""
        first = self.world.system.lease_shard(job, index, owner="slow", seconds=LEASE_SECONDS)
        self.world.pass_time(LEASE_SECONDS + 1)
        second = self.world.system.lease_shard(job, index, owner="new", seconds=LEASE_SECONDS)
        return multiple(*(one for one in (first, second) if isinstance(one, Lease)))

    @rule(lease=leases, unreadable=st.integers(0, 1))
    def commit(self, lease: Lease, unreadable: int) -> None:
        """From any worker that ever held the shard, however late, and more than once."""
        shard = self.read_shard(lease)
        count = ShardCount(inferred=lease.tiles - unreadable, unreadable=unreadable)
        key = f"{lease.job.id}/{lease.index}/{lease.attempt}"
        taken = self.world.system.commit_shard(lease, result_key=key, count=count, tiles_per_second=50.0)
        if taken:
            assert shard == (ShardState.RUNNING, lease.attempt)
            self.seen[lease.job.id].committed[lease.index] += 1
            self.seen[lease.job.id].tiles += lease.tiles

    @rule(lease=leases, done=st.integers(0, 9))
    def report(self, lease: Lease, done: int) -> None:
        part = min(done, lease.tiles)
        key = f"{lease.job.id}/{lease.index}/part-{part}"
        self.world.system.record_checkpoint(lease, key=key, done=part, unreadable=0, tiles_per_second=40.0)

    @rule(lease=leases)
    def extend(self, lease: Lease) -> None:
        before = self.read_shard(lease)
        if self.world.system.extend_lease(lease, seconds=LEASE_SECONDS):
            assert before == (ShardState.RUNNING, lease.attempt)

    @rule(lease=consumes(leases), failed=st.booleans())
    def give_back(self, lease: Lease, failed: bool) -> None:
        self.world.system.release_shard(lease, reason="drain", failed=failed)

    # --- what always holds

    @invariant()
    def each_tile_counts_once(self) -> None:
        for id, seen in self.seen.items():
            job = self.read(id)
            assert all(times == 1 for times in seen.committed.values())
            assert seen.stitched <= 1
            assert job.version >= seen.version
            if seen.end is not None:
                assert job.state is seen.end, "an end is final"
            seen.version, seen.end = job.version, job.state if job.state.is_final else None
            assert 0 <= job.tiles_inferred + job.tiles_unreadable <= job.tiles_planned
            self.shards_agree(job)

    @invariant()
    def usage_is_what_was_committed(self) -> None:
        for actor in (self.world.actor, self.world.other):
            tiles, _ = self.world.usage(actor)
            assert tiles == sum(one.tiles for one in self.seen.values() if one.actor is actor)

    @invariant()
    def each_move_has_its_event(self) -> None:
        for id, seen in self.seen.items():
            events = self.world.tenants.list_job_events(seen.actor, id, after=0, limit=1000)
            moved = [event.version for event in events if event.kind == "moved"]
            assert moved == sorted(set(moved)), "no move is told twice or late"
            assert not moved or moved[-1] == self.read(id).version

    def shards_agree(self, job: Job) -> None:
        with self.world.worker.begin_transaction() as cursor:
            shards = cursor.execute("SELECT state, tiles FROM shards WHERE job_id = %s", (job.id,)).fetchall()
        done = sum(shard["state"] == "DONE" for shard in shards)
        assert job.shards_total == len(shards)
        if job.state in (JobState.RUNNING, JobState.STITCHING) or job.state.is_success:
            assert job.shards_remaining == len(shards) - done
        if job.state is JobState.STITCHING or job.state.is_success:
            assert done == len(shards)
            assert job.tiles_inferred + job.tiles_unreadable == job.tiles_planned
        if job.state.is_final:
            assert not any(shard["state"] in ("QUEUED", "RUNNING") for shard in shards)

    # --- reading

    def read(self, id: UUID) -> Job:
        return self.world.tenants.get_job(self.seen[id].actor, id)

    def read_shard(self, lease: Lease) -> tuple[ShardState, int]:
        with self.world.worker.begin_transaction() as cursor:
            found = cursor.execute(
                "SELECT state, attempt FROM shards WHERE job_id = %s AND index = %s", (lease.job.id, lease.index)
            ).fetchone()
        assert found is not None
        return ShardState(found["state"]), found["attempt"]

    def come_to_an_end(self) -> None:
        """Let a calm installation finish: nothing may have been lost."""
        for _ in range(40):
            live = [id for id in self.seen if not self.read(id).state.is_final]
            if not live:
                return
            self.world.pass_time(700)
            self.world.system.sweep(**SWEEP)
            self.world.system.admit_shards(in_flight=100)
            for id in live:
                if self.world.system.begin_planning(id):
                    self.commit_plan(id, (4,))
                for index in range(self.read(id).shards_total):
                    taken = self.lease(id, index, "last")
                    if isinstance(taken, Lease):
                        self.commit(taken, 0)
                self.stitch(id)
            self.each_tile_counts_once()
            self.usage_is_what_was_committed()
        pytest.fail("jobs are still open, though nothing goes wrong any more")


def test_each_tile_counts_once_and_every_job_ends_whatever_the_order(postgres: PostgresServer) -> None:
    JobsInAnyOrder.postgres = postgres
    run_state_machine_as_test(
        JobsInAnyOrder,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
