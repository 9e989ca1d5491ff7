"""The three queues of shards, and the counts that SQS reports of them: old ones."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.keda_scaling.formulas import QueueCount
from gpu_worker.leases.turns import order_priorities
from wsi.records.jobs import Priority

QUEUES = tuple(priority.value for priority in Priority)


@dataclass(eq=False, slots=True)
class SimulatedShard:
    queue: str
    arrived: float
    left: float  #: s of work
    owner: object = None  #: what waits for it
    done: float | None = None
    runs: int = 0


class LaggingCounts:
    """The counts of one queue over time. SQS reports one of a random time within the lag."""

    def __init__(self, lag: float) -> None:
        self._lag = lag
        self._times: list[float] = [0.0]
        self._counts: list[QueueCount] = [QueueCount(0, 0)]

    def record(self, now: float, count: QueueCount) -> None:
        self._times.append(now)
        self._counts.append(count)

    def read(self, now: float, source: random.Random) -> QueueCount:
        """Return the count that SQS reports, and forget what it never will again."""
        found = self._counts[max(0, bisect_right(self._times, now - source.uniform(0, self._lag)) - 1)]
        stale = bisect_right(self._times, now - self._lag) - 1
        if stale > 0:
            del self._times[:stale]
            del self._counts[:stale]
        return found


class ShardQueues:
    """Visible messages of the queues, and how many are in flight."""

    def __init__(self, lag: float) -> None:
        self._visible: dict[str, deque[SimulatedShard]] = {name: deque() for name in QUEUES}
        self._in_flight: dict[str, int] = dict.fromkeys(QUEUES, 0)
        self._counts = {name: LaggingCounts(lag) for name in QUEUES}
        self._takes = 0

    @property
    def waiting(self) -> int:
        return sum(len(queue) for queue in self._visible.values())

    @property
    def in_flight(self) -> int:
        return sum(self._in_flight.values())

    def send(self, shards: Iterable[SimulatedShard], now: float) -> None:
        """Make shards visible; `arrived` is set by who made them."""
        queues: set[str] = set()
        for shard in shards:
            self._visible[shard.queue].append(shard)
            queues.add(shard.queue)
        self._record(queues, now)

    def receive(self, now: float) -> SimulatedShard | None:
        """Return the next shard, of the queue whose turn it is."""
        queue = next((name for name in order_priorities(self._takes) if self._visible[name]), None)
        if queue is None:
            return None
        self._takes += 1
        self._in_flight[queue] += 1
        shard = self._visible[queue].popleft()
        self._record((queue,), now)
        return shard

    def delete(self, shard: SimulatedShard, now: float) -> None:
        self._in_flight[shard.queue] -= 1
        self._record((shard.queue,), now)

    def give_back(self, shards: Iterable[SimulatedShard], now: float) -> None:
        """Make shards visible again, before all others."""
        queues: set[str] = set()
        for shard in shards:
            self._in_flight[shard.queue] -= 1
            self._visible[shard.queue].appendleft(shard)
            queues.add(shard.queue)
        self._record(queues, now)

    def count(self, now: float, source: random.Random) -> list[QueueCount]:
        """Return what SQS reports of each queue."""
        return [self._counts[name].read(now, source) for name in QUEUES]

    def _record(self, queues: Iterable[str], now: float) -> None:
        for name in queues:
            self._counts[name].record(now, QueueCount(len(self._visible[name]), self._in_flight[name]))
