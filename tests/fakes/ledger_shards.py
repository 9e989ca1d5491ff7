"""The shards of the memory ledger: lease, heartbeat, checkpoint, commit, release."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from tests.fakes.ledger_books import Books, Report, Usage
from wsi.errors import FailReason
from wsi.ledger_rules import (
    LEASE_EXPIRED,
    POISON_FAILURES,
    POISON_SILENCES,
    RATE_SECONDS,
    check_count,
    describe_poison,
    describe_silence,
    make_shard_detail,
)
from wsi.records.jobs import Job
from wsi.records.shards import Lease, LeaseRefusal, Shard, ShardCount
from wsi.states import JobState, ShardState


class MemoryShards:
    """The shard methods of `wsi.ports.ledger.SystemLedger`."""

    books: Books

    def lease_shard(self, job_id: UUID, index: int, *, owner: str, seconds: float) -> Lease | LeaseRefusal:
        with self.books.lock:
            job, now = self.books.jobs.get(job_id), self.books.now()
            shards = self.books.shards.get(job_id, [])
            if job is None or job.state is not JobState.RUNNING or not 0 <= index < len(shards):
                return LeaseRefusal.SETTLED
            self.expire(job, index)
            shard = self.books.shards[job_id][index]
            if shard.state is ShardState.RUNNING:
                return LeaseRefusal.HELD
            if shard.state is not ShardState.QUEUED:
                return LeaseRefusal.SETTLED
            leased = replace(
                shard,
                state=ShardState.RUNNING,
                attempt=shard.attempt + 1,
                lease_owner=owner,
                lease_until=self.books.hence(seconds),
            )
            self.books.put_shard(leased)
            self.books.line.pop((job_id, index), None)
            self.books.reports[job_id, index] = Report(leased_at=now)
            self.books.append_event(job, "shard_leased", make_shard_detail(index, leased.attempt, owner))
            if job.first_lease_at is None:
                self.books.jobs[job_id] = replace(job, first_lease_at=now, updated_at=now)
            return Lease(
                job=job,
                index=index,
                attempt=leased.attempt,
                tiles=leased.tiles,
                checkpoint_key=leased.checkpoint_key,
            )

    def expire(self, job: Job, index: int | None = None) -> list[int]:
        """Shards of the job (or that one) whose worker fell silent: RUNNING -> QUEUED; returns them. One that
        silenced too many workers in a row is FAILED, and the job with it: then none is left to take."""
        now = self.books.now()
        silent = [
            shard
            for shard in self.books.shards.get(job.id, ())
            if shard.state is ShardState.RUNNING and shard.lease_until is not None and shard.lease_until < now
            if index in (None, shard.index)
        ]
        poison: list[int] = []
        for shard in silent:
            poisoned = shard.silences + 1 >= POISON_SILENCES
            state = ShardState.FAILED if poisoned else ShardState.QUEUED
            self.books.put_shard(
                replace(shard, state=state, silences=shard.silences + 1, lease_until=None, reason=LEASE_EXPIRED)
            )
            detail = make_shard_detail(shard.index, shard.attempt, shard.lease_owner, reason=LEASE_EXPIRED)
            self.books.append_event(job, "shard_failed" if poisoned else "shard_released", detail)
            if poisoned:
                poison.append(shard.index)
        if poison:
            self.books.fail_job(job.id, FailReason.POISON_SHARD, describe_silence(poison[0]))
            return []
        return [shard.index for shard in silent]

    def extend_lease(self, lease: Lease, *, seconds: float) -> bool:
        with self.books.lock:
            held = self._held(lease)
            if held is None:
                return False
            self.books.put_shard(replace(held[1], lease_until=self.books.hence(seconds)))
            return True

    def record_checkpoint(
        self, lease: Lease, *, key: str, done: int, unreadable: int, tiles_per_second: float | None
    ) -> bool:
        with self.books.lock:
            held = self._held(lease)
            if held is None:
                return False
            job, shard = held
            if done >= shard.tiles_done:
                reached = replace(shard, checkpoint_key=key, tiles_done=done, tiles_unreadable=unreadable, silences=0)
                self._report(job, shard, reached, tiles_per_second)
            return True

    def commit_shard(self, lease: Lease, *, result_key: str, count: ShardCount, tiles_per_second: float | None) -> bool:
        check_count(count, lease.tiles)
        with self.books.lock:
            held = self._held(lease)
            if held is None:
                return False
            job, shard = held
            done = replace(
                shard,
                state=ShardState.DONE,
                result_key=result_key,
                tiles_done=shard.tiles,
                tiles_unreadable=count.unreadable,
                lease_until=None,
            )
            job = self._report(job, shard, done, tiles_per_second)
            self._add_usage(job, shard)
            detail = make_shard_detail(
                shard.index, shard.attempt, shard.lease_owner, tiles=shard.tiles, unreadable=count.unreadable
            )
            self.books.append_event(job, "shard_committed", detail)
            if job.shards_remaining == 0:
                self.books.move_job(job.id, JobState.STITCHING)
            return True

    def release_shard(self, lease: Lease, *, reason: str, failed: bool) -> bool:
        with self.books.lock:
            held = self._held(lease)
            if held is None:
                return False
            job, shard = held
            failures = shard.failures + failed
            poisoned = failures >= POISON_FAILURES
            state = ShardState.FAILED if poisoned else ShardState.QUEUED
            self.books.put_shard(replace(shard, state=state, failures=failures, reason=reason, lease_until=None))
            kind = "shard_failed" if failed else "shard_released"
            detail = make_shard_detail(shard.index, shard.attempt, shard.lease_owner, reason=reason, failures=failures)
            self.books.append_event(job, kind, detail)
            if poisoned:
                self.books.fail_job(job.id, FailReason.POISON_SHARD, describe_poison(shard.index))
            else:
                self.books.wake_shards(job, [shard.index])
            return True

    def _held(self, lease: Lease) -> tuple[Job, Shard] | None:
        """Job and shard, while the lease is the newest and the job still wants it."""
        job = self.books.jobs[lease.job.id]
        shard = self.books.shards[job.id][lease.index]
        current = shard.state is ShardState.RUNNING and shard.attempt == lease.attempt
        return (job, shard) if current and job.state is JobState.RUNNING else None

    def _report(self, job: Job, before: Shard, after: Shard, rate: float | None) -> Job:
        report = self.books.reports[job.id, before.index]
        report.rate, report.at = rate if rate is not None else report.rate, self.books.now()
        self.books.put_shard(after)
        gained_unreadable = after.tiles_unreadable - before.tiles_unreadable
        return self.books.add_progress(
            job,
            inferred=after.tiles_done - before.tiles_done - gained_unreadable,
            unreadable=gained_unreadable,
            finished=int(after.state is ShardState.DONE),
            rate=self._rate(job),
            seconds=self._seconds_since(report.leased_at) if after.state is ShardState.DONE else 0.0,
        )

    def _rate(self, job: Job) -> float | None:
        """Tiles a second of the whole job: the last report of each worker, while it is fresh."""
        newest: dict[str | None, Report] = {}
        for shard in self.books.shards[job.id]:
            report = self.books.reports.get((job.id, shard.index))
            if report is None or report.rate is None or report.at is None:
                continue
            known = newest.get(shard.lease_owner)
            fresh = report.at > self.books.ago(RATE_SECONDS)
            if fresh and (known is None or known.at is None or report.at > known.at):
                newest[shard.lease_owner] = report
        return sum(report.rate or 0.0 for report in newest.values()) if newest else None

    def _seconds_since(self, then: datetime) -> float:
        return max(0.0, (self.books.now() - then).total_seconds())

    def _add_usage(self, job: Job, shard: Shard) -> None:
        now = self.books.now()
        seconds = self._seconds_since(self.books.reports[job.id, shard.index].leased_at)
        day = (job.tenant, now.date())
        for usage in (
            self.books.usage.setdefault(day, Usage()),
            self.books.usage_details.setdefault((*day, job.model, job.model_version, job.created_by), Usage()),
        ):
            usage.tiles += shard.tiles
            usage.worker_seconds += seconds
