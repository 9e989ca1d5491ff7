"""A simulated cluster: KEDA, the cluster-autoscaler, nodes, pause pods and draining workers, event by event.

Shards arrive as messages. KEDA polls the queues, whose counts lag as those of SQS do, and creates Jobs. A pod without a
node makes the autoscaler start one. A worker leases a shard, and the next when half of it is done; it exits when it has
found nothing for a while. When a spot reclaim takes a node, its worker has two minutes to return its shards; the
running shard keeps its finished part.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.keda_scaling.formulas import QueueCount, ScaledJob, count_jobs_to_create
from gpu_worker.leases.turns import order_priorities
from wsi.records.jobs import Priority

QUEUES = tuple(priority.value for priority in Priority)


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedWorker:
    """The worker's own behaviour. Times are in s."""

    leases: int
    idle: float
    start: float = 30.0  #: from the container's start to the first poll: imports, CUDA, the model
    drain: float = 15.0  #: from the notice to the last lease given back
    resume: float = 5.0  #: added to a shard that resumes elsewhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """The cluster around the worker. Times are in s; for a pair, a number between both is drawn each time."""

    polling: float  #: KEDA's
    unneeded: float  #: the autoscaler removes a node that has had no pod for this long
    after_add: float  #: the autoscaler removes no node for this long after it requested one
    scan: float = 10.0  #: between two scans of the cluster-autoscaler
    boot: tuple[float, float] = (210.0, 270.0)  #: from the request of a spot node until the image is there
    lag: float = 60.0  #: the largest age of SQS's counts
    work: tuple[float, float] = (45.0, 75.0)  #: of a shard
    nodes: int = 24
    warm: int = 0  #: nodes held by pause pods
    lost_share: float = 0.0  #: of the nodes with a worker, to a spot reclaim
    lost_at: tuple[float, float] = (330.0, 420.0)
    notice: float = 120.0


@dataclass(eq=False, slots=True)
class SimulatedShard:
    queue: str
    arrived: float
    left: float  #: s of work
    done: float | None = None
    runs: int = 0


@dataclass(eq=False, slots=True)
class Node:
    asked: float
    ready: bool = False
    pod: Pod | None = None
    held_since: float | None = None  #: by a pause pod
    free_since: float = 0.0
    lost: bool = False
    gone: float | None = None

    @property
    def is_free(self) -> bool:
        """True if a worker can use the node; a pause pod gives way."""
        return self.ready and not self.lost and self.gone is None and self.pod is None


@dataclass(eq=False, slots=True)
class Pod:
    created: float
    node: Node | None = None
    ended: float | None = None
    held: deque[SimulatedShard] = field(default_factory=deque[SimulatedShard])  #: the first one runs
    began: float = 0.0  #: the running shard
    hungry: bool = False  #: would take a shard now
    waits: bool = False  #: runs none
    had_work: bool = False
    was_lost: bool = False
    epoch: int = 0  #: of the pod's life; actions planned in an earlier one are dropped


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
        self._job, self._worker, self._cluster = scaled_job, worker, cluster
        self._seed = seed
        self._random = random.Random(f"{seed}/counts")
        self._now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._visible: dict[str, deque[SimulatedShard]] = {name: deque() for name in QUEUES}
        self._in_flight: dict[str, int] = dict.fromkeys(QUEUES, 0)
        self._history: dict[str, list[tuple[float, QueueCount]]] = {name: [(0.0, QueueCount(0, 0))] for name in QUEUES}
        self.shards: list[SimulatedShard] = []
        self.pods: list[Pod] = []
        self.nodes: list[Node] = []
        self._takes = 0
        self._last_add = -math.inf
        self._held_seconds = self._work_seconds = 0.0
        self._most_leases = 0

    def run(self, arrivals: Sequence[tuple[float, str, int]], *, horizon: float = 4 * 3600.0) -> SimulationOutcome:
        """Run all `arrivals`, (s, queue, shards), until all is done and no node is left but the warm ones. Raises
        RuntimeError at the horizon."""
        for _ in range(self._cluster.warm):
            self.nodes.append(Node(asked=0.0, ready=True, held_since=0.0))
        for at, queue, count in arrivals:
            self._at(at, lambda queue=queue, count=count: self._arrive(queue, count))
        self._expected = sum(count for _, _, count in arrivals)
        self._at(random.Random(f"{self._seed}/poll").uniform(0, self._cluster.polling), self._poll)
        self._at(random.Random(f"{self._seed}/scan").uniform(0, self._cluster.scan), self._scan)
        if self._cluster.lost_share:
            self._at(random.Random(f"{self._seed}/lost").uniform(*self._cluster.lost_at), self._reclaim)
        while not self._is_over():
            self._now, _, action = heapq.heappop(self._agenda)
            if self._now > horizon:
                raise RuntimeError(f"not over after {horizon:.0f} s")
            action()
        return self._outcome()

    # --- time

    def _at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (time, next(self._order), action))

    def _later(self, seconds: float, pod: Pod, action: Callable[[Pod], None]) -> None:
        """Run the action in `seconds`, unless the pod has entered another epoch by then."""
        epoch = pod.epoch
        self._at(self._now + seconds, lambda: action(pod) if pod.epoch == epoch else None)

    def _draw_number(self, between: tuple[float, float], what: str, number: int) -> float:
        """Draw a number that depends on the seed, `what` and `number` alone, so that all settings meet equal
        circumstances."""
        return random.Random(f"{self._seed}/{what}/{number}").uniform(*between)

    def _is_over(self) -> bool:
        return (
            len(self.shards) == self._expected
            and all(shard.done is not None for shard in self.shards)
            and all(pod.ended is not None for pod in self.pods)
            and len([node for node in self.nodes if node.gone is None])
            == self._count_held_nodes()
            == self._cluster.warm
        )

    # --- queues

    def _arrive(self, queue: str, count: int) -> None:
        for _ in range(count):
            work = self._draw_number(self._cluster.work, "shard", len(self.shards))
            shard = SimulatedShard(queue=queue, arrived=self._now, left=work)
            self.shards.append(shard)
            self._visible[queue].append(shard)
        self._record_count(queue)
        self._serve()

    def _record_count(self, queue: str) -> None:
        self._history[queue].append((self._now, QueueCount(len(self._visible[queue]), self._in_flight[queue])))

    def _count(self, queue: str) -> QueueCount:
        """Return the count that SQS reports: that of a random time within the lag."""
        history, then = self._history[queue], self._now - self._random.uniform(0, self._cluster.lag)
        return history[max(0, bisect_right(history, then, key=lambda entry: entry[0]) - 1)][1]

    def _serve(self) -> None:
        """Offer shards to the workers, idle ones first: these ask every second, and busy ones at each batch."""
        for pod in sorted((pod for pod in self.pods if pod.hungry), key=lambda pod: not pod.waits):
            self._take(pod)

    def _take(self, pod: Pod) -> None:
        queue = next((name for name in order_priorities(self._takes) if self._visible[name]), None)
        if queue is None:
            return
        self._takes += 1
        shard = self._visible[queue].popleft()
        self._in_flight[queue] += 1
        self._record_count(queue)
        pod.held.append(shard)
        pod.had_work = True
        pod.hungry = False
        self._most_leases = max(self._most_leases, len(pod.held))
        if pod.waits:
            self._begin(pod)

    # --- workers

    def _ask(self, pod: Pod) -> None:
        """Take a shard for an idle worker, which ends if it gets none for `idle` seconds."""
        pod.epoch += 1
        pod.waits = pod.hungry = True
        self._take(pod)
        if pod.waits:
            self._later(self._worker.idle, pod, self._end)

    def _begin(self, pod: Pod) -> None:
        pod.epoch += 1
        pod.waits = pod.hungry = False
        pod.began = self._now
        shard = pod.held[0]
        shard.runs += 1
        if self._worker.leases > 1:
            self._later(shard.left / 2, pod, self._look_ahead)
        self._later(shard.left, pod, self._commit)

    def _look_ahead(self, pod: Pod) -> None:
        pod.hungry = True
        self._take(pod)

    def _commit(self, pod: Pod) -> None:
        shard = pod.held.popleft()
        shard.done = self._now
        self._work_seconds += self._now - pod.began
        self._in_flight[shard.queue] -= 1
        self._record_count(shard.queue)
        if pod.held:
            self._begin(pod)
        else:
            self._ask(pod)

    def _end(self, pod: Pod) -> None:
        """Complete the pod's Job and free its node."""
        pod.epoch += 1
        pod.waits = pod.hungry = False
        pod.ended = self._now
        if pod.node is not None:
            pod.node.pod, pod.node.free_since = None, self._now
        self._schedule()

    # --- Kubernetes

    def _poll(self) -> None:
        """Create Jobs as KEDA does. A Job whose pod has no node yet is pending, and counts as running too."""
        living = [pod for pod in self.pods if pod.ended is None]
        pending = sum(pod.node is None for pod in living)
        counts = [self._count(queue) for queue in QUEUES]
        for _ in range(count_jobs_to_create(self._job, counts, running=len(living), pending=pending)):
            self.pods.append(Pod(created=self._now))
        self._schedule()
        self._at(self._now + self._cluster.polling, self._poll)

    def _schedule(self) -> None:
        """Assign pods to free nodes, else to those of pause pods, which give way; pause pods get what is left."""
        for pod in self._list_unscheduled():
            free = [node for node in self.nodes if node.is_free]
            if not free:
                return
            node = min(free, key=lambda node: node.held_since is not None)
            self._let_go(node)
            node.pod, pod.node = pod, node
            self._later(self._worker.start, pod, self._ask)
        for node in self.nodes:
            if node.is_free and node.held_since is None and self._count_held_nodes() < self._cluster.warm:
                node.held_since = self._now

    def _list_unscheduled(self) -> list[Pod]:
        return [pod for pod in self.pods if pod.ended is None and pod.node is None]

    def _count_held_nodes(self) -> int:
        return sum(node.held_since is not None for node in self.nodes)

    def _let_go(self, node: Node) -> None:
        if node.held_since is not None:
            self._held_seconds += self._now - node.held_since
            node.held_since = None

    def _scan(self) -> None:
        """Add a node for each pod without one, less those that are booting, and remove unneeded nodes, as the
        cluster-autoscaler does."""
        there = [node for node in self.nodes if node.gone is None]
        wanting = len(self._list_unscheduled()) + self._cluster.warm - self._count_held_nodes()
        coming = sum(not node.ready for node in there)
        for _ in range(min(wanting - coming, self._cluster.nodes - len(there))):
            self._last_add = self._now
            boot = self._draw_number(self._cluster.boot, "node", len(self.nodes))
            node = Node(asked=self._now)
            self.nodes.append(node)
            self._at(self._now + boot, lambda node=node: self._join(node))
        for node in there if self._now - self._last_add >= self._cluster.after_add else ():
            if node.is_free and node.held_since is None and self._now - node.free_since >= self._cluster.unneeded:
                node.gone = self._now
        self._at(self._now + self._cluster.scan, self._scan)

    def _join(self, node: Node) -> None:
        node.ready, node.free_since = True, self._now
        self._schedule()

    def _reclaim(self) -> None:
        """Reclaim some of the nodes that have a worker, as spot does."""
        busy = [node for node in self.nodes if node.pod and node.gone is None]
        count = math.ceil(len(busy) * self._cluster.lost_share)
        for node in random.Random(f"{self._seed}/which").sample(busy, count):
            node.lost = True
            pod = node.pod
            assert pod is not None, "chosen for it"
            pod.was_lost = True
            pod.epoch += 1
            pod.waits = pod.hungry = False
            if pod.held:
                ran = self._now - pod.began
                self._work_seconds += ran
                pod.held[0].left += self._worker.resume - ran
            self._later(self._worker.drain, pod, self._give_back)
            self._at(self._now + self._cluster.notice, lambda node=node: self._vanish(node))

    def _give_back(self, pod: Pod) -> None:
        queues = {shard.queue for shard in pod.held}
        while pod.held:
            shard = pod.held.pop()
            self._in_flight[shard.queue] -= 1
            self._visible[shard.queue].appendleft(shard)
        for queue in queues:
            self._record_count(queue)
        self._end(pod)
        self._serve()

    def _vanish(self, node: Node) -> None:
        node.gone = self._now

    # --- the outcome

    def _outcome(self) -> SimulationOutcome:
        for node in self.nodes:
            self._let_go(node)
        up = sum((self._now if node.gone is None else node.gone) - node.asked for node in self.nodes)
        return SimulationOutcome(
            completion=tuple(shard.done - shard.arrived for shard in self.shards if shard.done is not None),
            pods=len(self.pods),
            useless=sum(not pod.had_work and not pod.was_lost for pod in self.pods),
            gpu_seconds=up - self._held_seconds,
            work_seconds=self._work_seconds,
            most_leases=self._most_leases,
            runs=sum(shard.runs for shard in self.shards),
        )
