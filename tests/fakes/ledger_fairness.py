"""Fairness in the memory ledger: the lines in which shards wait until they are admitted, and the tenants' quotas."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.planning.estimate import compute_cost
from wsi.quota_rules import (
    check_budget,
    check_bytes_stored,
    check_jobs_waiting,
    check_priority,
    check_tiles,
    check_uploads_open,
)
from wsi.records.identity import Actor
from wsi.records.jobs import Job, NewJob, Priority
from wsi.records.quotas import NO_QUOTAS, Quotas
from wsi.records.shards import Shard
from wsi.records.slides import SlideFile
from wsi.states import ShardState, SlideState


@dataclass(frozen=True, slots=True)
class _Head:
    """A shard near the head of its tenant's line."""

    place: int  #: shards that the tenant would then have in flight
    admitted_at: float  #: when the tenant was admitted last; -inf while it has none in flight
    number: int  #: in the order in which shards came into any line
    shard: Shard


class MemoryLines:
    books: Books

    def admit_shards(self, *, in_flight: int) -> int:
        with self.books.lock:
            return sum(self._admit(priority, in_flight) for priority in Priority)

    def _admit(self, priority: Priority, in_flight: int) -> int:
        begun: Counter[UUID] = Counter()
        last: dict[UUID, datetime] = {}
        lines: defaultdict[UUID, list[tuple[int, Shard]]] = defaultdict(list)
        for job_id, shards in self.books.shards.items():
            job = self.books.jobs[job_id]
            for shard in shards if job.priority is priority else ():
                number = self.books.line.get((job_id, shard.index))
                if number is not None and shard.state is ShardState.QUEUED:
                    lines[job.tenant].append((number, shard))
                elif shard.state in (ShardState.QUEUED, ShardState.RUNNING):
                    begun[job.tenant] += 1
                    woken = self.books.woken_at.get((job_id, shard.index), job.created_at)
                    last[job.tenant] = max(woken, last.get(job.tenant, woken))
        free = max(0, in_flight - begun.total())
        heads = [
            _Head(begun[tenant] + n, last[tenant].timestamp() if tenant in last else float("-inf"), number, shard)
            for tenant, line in lines.items()
            for n, (number, shard) in enumerate(sorted(line, key=lambda entry: entry[0])[: max(free, 1)], start=1)
        ]
        heads.sort(key=lambda head: (head.place, head.admitted_at, head.number))
        chosen = [head for turn, head in enumerate(heads, start=1) if turn <= free or head.place == 1]
        for head in chosen:
            self.books.wake_shards(self.books.jobs[head.shard.job_id], [head.shard.index])
        return len(chosen)


class MemoryQuotas:
    books: Books

    def check_priority_allowed(self, actor: Actor, asked: Priority) -> None:
        check_priority(self.get_quotas(actor.tenant), asked)

    def check_new_job(self, actor: Actor, job: NewJob, dollars_per_gpu_hour: float | None) -> None:
        quotas = self.get_quotas(actor.tenant)
        check_priority(quotas, job.priority)
        if dollars_per_gpu_hour is not None:
            spent = compute_cost(self.sum_month(actor.tenant), dollars_per_gpu_hour)
            check_budget(quotas, dollars=spent, now=self.books.now())
        mine = [other for other in self.books.jobs.values() if other.tenant == actor.tenant]
        check_jobs_waiting(quotas, sum(not one.state.is_final and one.first_lease_at is None for one in mine))
        now = self.books.now()
        used = sum(self._tiles(one) for one in mine if one.created_at.date() == now.date())
        check_tiles(quotas, used=used, more=job.tiles_expected, now=now)

    def check_new_upload(self, actor: Actor, files: Sequence[SlideFile]) -> None:
        quotas = self.get_quotas(actor.tenant)
        mine = [slide for slide in self.books.slides.values() if slide.tenant == actor.tenant]
        check_uploads_open(quotas, sum(slide.state is SlideState.UPLOADING for slide in mine))
        kept = [slide for slide in mine if slide.state is not SlideState.DELETED]
        used = sum(file.size for slide in kept for file in slide.files if str(slide.id) in file.uri)
        check_bytes_stored(quotas, used=used, more=sum(file.size for file in files))

    def sum_month(self, tenant: UUID) -> float:
        """Worker seconds of the tenant in this month of UTC."""
        this = self.books.now().date().replace(day=1)
        return sum(used.worker_seconds for key, used in self.books.usage.items() if key[0] == tenant and key[1] >= this)

    def _tiles(self, job: Job) -> int:
        if job.state.is_final:
            return job.tiles_inferred + job.tiles_unreadable
        return job.tiles_planned or self.books.tiles_expected.get(job.id, 0)

    def get_quotas(self, tenant: UUID) -> Quotas:
        own, general = (self.books.quotas.get(key, NO_QUOTAS) for key in (tenant, None))
        values: dict[str, Any] = {field.name: getattr(own, field.name) for field in fields(Quotas)}
        return Quotas(**{name: getattr(general, name) if one is None else one for name, one in values.items()})
