"""A day of shards on a simulated cluster: KEDA, the autoscaler, nodes, pause pods and draining workers, event by event.

Shards arrive as messages. KEDA polls the queues, whose counts lag as those of SQS do, and creates Jobs. A pod without a
node makes the autoscaler start one. A worker leases a shard, and the next when half of it is done; it exits when it has
found nothing for a while. When a spot reclaim takes a node, its worker has two minutes to return its shards; the
running shard keeps its finished part.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.keda_scaling.agenda import Agenda
from benchmarks.keda_scaling.formulas import ScaledJob
from benchmarks.keda_scaling.nodes import Cluster, Pod
from benchmarks.keda_scaling.queues import SimulatedShard
from benchmarks.keda_scaling.workers import SimulatedWorker, SimulatedWorkers


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationOutcome:
    completion: tuple[float, ...]  #: s from the arrival of each shard to its commit
    pods: int
    useless: int  #: pods that never got a shard, and that no spot reclaim took
    gpu_seconds: float  #: of nodes, from their request to their removal, without the time that pause pods held them
    work_seconds: float
    most_leases: int  #: that one worker held
    runs: int  #: of shards, including those that a reclaim ended


class Simulation:
    def __init__(self, scaled_job: ScaledJob, worker: SimulatedWorker, cluster: Cluster, *, seed: int) -> None:
        self._cluster, self._seed = cluster, seed
        self._agenda = Agenda()
        self._workers = SimulatedWorkers(scaled_job, worker, cluster, self._agenda, seed=seed, on_done=self._count_done)
        self._done = 0
        self.shards: list[SimulatedShard] = []

    @property
    def pods(self) -> Sequence[Pod]:
        return self._workers.pods

    def run(self, arrivals: Sequence[tuple[float, str, int]], *, horizon: float = 4 * 3600.0) -> SimulationOutcome:
        """Run all `arrivals`, (s, queue, shards), until all is done and no node is left but the warm ones. Raises
        RuntimeError at the horizon."""
        cluster, agenda = self._cluster, self._agenda
        for at, queue, count in arrivals:
            agenda.run_at(at, lambda queue=queue, count=count: self._arrive(queue, count))
        expected = sum(count for _, _, count in arrivals)
        self._workers.begin(
            poll_at=random.Random(f"{self._seed}/poll").uniform(0, cluster.polling),
            scan_at=random.Random(f"{self._seed}/scan").uniform(0, cluster.scan),
            warm=cluster.warm,
        )
        if cluster.lost_share:
            lost_at = random.Random(f"{self._seed}/lost").uniform(*cluster.lost_at)
            agenda.run_at(lost_at, lambda: self._workers.nodes.reclaim_share(cluster.lost_share))
        while not (self._done == expected and self._workers.is_idle and self._workers.nodes.held == cluster.warm):
            agenda.step()
            if agenda.now > horizon:
                raise RuntimeError(f"not over after {horizon:.0f} s")
        return self._outcome()

    def draw_number(self, between: tuple[float, float], what: str, number: int) -> float:
        """Draw a number that depends on the seed, `what` and `number` alone, so that all settings meet equal
        circumstances."""
        return random.Random(f"{self._seed}/{what}/{number}").uniform(*between)

    def _arrive(self, queue: str, count: int) -> None:
        arrived = [
            SimulatedShard(
                queue=queue,
                arrived=self._agenda.now,
                left=self.draw_number(self._cluster.work, "shard", len(self.shards) + place),
            )
            for place in range(count)
        ]
        self.shards += arrived
        self._workers.send(arrived)

    def _count_done(self, shard: SimulatedShard) -> None:
        self._done += 1

    def _outcome(self) -> SimulationOutcome:
        workers, nodes, now = self._workers, self._workers.nodes, self._agenda.now
        nodes.let_all_go()
        up = sum((now if node.gone is None else node.gone) - node.asked for node in nodes.all)
        return SimulationOutcome(
            completion=tuple(shard.done - shard.arrived for shard in self.shards if shard.done is not None),
            pods=len(workers.pods),
            useless=sum(not pod.had_work and not pod.was_lost for pod in workers.pods),
            gpu_seconds=up - nodes.held_seconds,
            work_seconds=workers.work_seconds,
            most_leases=workers.most_leases,
            runs=sum(shard.runs for shard in self.shards),
        )
