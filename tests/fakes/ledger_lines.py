"""The tenants' lines in the memory ledger: shards that wait until the relay admits them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.records.jobs import Priority
from wsi.records.shards import Shard
from wsi.states import ShardState


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
