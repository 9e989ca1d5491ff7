"""A cluster in the mind: KEDA, the cluster-autoscaler, nodes, pause pods and draining workers, event by event.

Shards come as messages. KEDA looks at the queues, a little late as SQS counts, and creates Jobs. A pod without a node
makes the autoscaler start one. A worker takes a shard, and the next when half of it is done; it leaves when it found
nothing for a while. A node that a spot reclaim takes gives its worker two minutes, in which the worker returns its
shards, the running one with what is done of it.
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

from benchmarks.keda_scaling.formulas import QueueCount, ScaledJob, jobs_to_create

QUEUES = ("high", "normal", "low")
LOW_FIRST_EVERY = 8  #: takes, as `gpu_worker.intake`


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """What the worker does by itself. Times in s."""

    leases: int
    idle: float
    start: float = 30.0  #: from the container's start to the first poll: imports, CUDA, the model
    drain: float = 15.0  #: from the notice to the last lease given back
    resume: float = 5.0  #: what a shard costs more when it goes on elsewhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """What happens around the worker. Times in s; of a pair, a number between both is drawn each time."""

    polling: float  #: KEDA's
    unneeded: float  #: the autoscaler removes a node that has had no pod for so long
    after_add: float  #: and removes none for so long after it asked for one
    scan: float = 10.0  #: between two looks of the cluster-autoscaler
    boot: tuple[float, float] = (210.0, 270.0)  #: from asking for a spot node until the image is there
    lag: float = 60.0  #: SQS's counts are up to so old
    work: tuple[float, float] = (45.0, 75.0)  #: of a shard
    nodes: int = 24
    warm: int = 0  #: nodes held by pause pods
    lost_share: float = 0.0  #: of the nodes with a worker, to a spot reclaim
    lost_at: tuple[float, float] = (330.0, 420.0)
    notice: float = 120.0


@dataclass(eq=False, slots=True)
class Shard:
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
        """For a worker: a pause pod gives way."""
        return self.ready and not self.lost and self.gone is None and self.pod is None


@dataclass(eq=False, slots=True)
class Pod:
    created: float
    node: Node | None = None
    ended: float | None = None
    held: deque[Shard] = field(default_factory=deque[Shard])  #: the first one runs
    began: float = 0.0  #: the running shard
    hungry: bool = False  #: would take a shard now
    waits: bool = False  #: runs none
    had_work: bool = False
    was_lost: bool = False
    epoch: int = 0  #: of the pod's life; what was planned in an earlier one does not happen


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    completion: tuple[float, ...]  #: s from the arrival of each shard to its commit
    pods: int
    useless: int  #: pods that were there for nothing: they never got a shard, and no spot reclaim took them
    gpu_seconds: float  #: of nodes, from asking for them until they are gone; without what pause pods held
    work_seconds: float
    most_leases: int  #: that one worker held
    runs: int  #: of shards, those that a reclaim ended among them


class Simulation:
    def __init__(self, scaled_job: ScaledJob, worker: Worker, cluster: Cluster, *, seed: int) -> None:
        self._job, self._worker, self._cluster = scaled_job, worker, cluster
        self._seed = seed
        self._random = random.Random(f"{seed}/counts")
        self._now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._visible: dict[str, deque[Shard]] = {name: deque() for name in QUEUES}
        self._in_flight: dict[str, int] = dict.fromkeys(QUEUES, 0)
        self._history: dict[str, list[tuple[float, QueueCount]]] = {name: [(0.0, QueueCount(0, 0))] for name in QUEUES}
        self.shards: list[Shard] = []
        self.pods: list[Pod] = []
        self.nodes: list[Node] = []
        self._takes = 0
        self._last_add = -math.inf
        self._held_seconds = self._work_seconds = 0.0
        self._most_leases = 0

    def run(self, arrivals: Sequence[tuple[float, str, int]], *, horizon: float = 4 * 3600.0) -> Outcome:
        """`arrivals`: (s, queue, shards). Ends when all is done and no node is left but the warm ones, or raises
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
        """Unless the pod's life has taken a turn until then."""
        epoch = pod.epoch
        self._at(self._now + seconds, lambda: action(pod) if pod.epoch == epoch else None)

    def _drawn(self, between: tuple[float, float], what: str, number: int) -> float:
        """The same for the same thing whatever the settings are, so that settings meet equal circumstances."""
        return random.Random(f"{self._seed}/{what}/{number}").uniform(*between)

    def _is_over(self) -> bool:
        return (
            len(self.shards) == self._expected
            and all(shard.done is not None for shard in self.shards)
            and all(pod.ended is not None for pod in self.pods)
            and len([node for node in self.nodes if node.gone is None]) == self._held_nodes() == self._cluster.warm
        )

    # --- queues

    def _arrive(self, queue: str, count: int) -> None:
        for _ in range(count):
            work = self._drawn(self._cluster.work, "shard", len(self.shards))
            shard = Shard(queue=queue, arrived=self._now, left=work)
            self.shards.append(shard)
            self._visible[queue].append(shard)
        self._counted(queue)
        self._serve()

    def _counted(self, queue: str) -> None:
        self._history[queue].append((self._now, QueueCount(len(self._visible[queue]), self._in_flight[queue])))

    def _count(self, queue: str) -> QueueCount:
        """As SQS tells it: as it was some time ago."""
        history, then = self._history[queue], self._now - self._random.uniform(0, self._cluster.lag)
        return history[max(0, bisect_right(history, then, key=lambda entry: entry[0]) - 1)][1]

    def _serve(self) -> None:
        """Idle workers ask every second; one that runs a shard asks for the next at each of its batches."""
        for pod in sorted((pod for pod in self.pods if pod.hungry), key=lambda pod: not pod.waits):
            self._take(pod)

    def _take(self, pod: Pod) -> None:
        turn = (*QUEUES[-1:], *QUEUES[:-1]) if self._takes % LOW_FIRST_EVERY == LOW_FIRST_EVERY - 1 else QUEUES
        queue = next((name for name in turn if self._visible[name]), None)
        if queue is None:
            return
        self._takes += 1
        shard = self._visible[queue].popleft()
        self._in_flight[queue] += 1
        self._counted(queue)
        pod.held.append(shard)
        pod.had_work = True
        pod.hungry = False
        self._most_leases = max(self._most_leases, len(pod.held))
        if pod.waits:
            self._begin(pod)

    # --- workers

    def _ask(self, pod: Pod) -> None:
        """The worker has nothing to do."""
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
        self._counted(shard.queue)
        if pod.held:
            self._begin(pod)
        else:
            self._ask(pod)

    def _end(self, pod: Pod) -> None:
        """The Job is complete, its node free."""
        pod.epoch += 1
        pod.waits = pod.hungry = False
        pod.ended = self._now
        if pod.node is not None:
            pod.node.pod, pod.node.free_since = None, self._now
        self._schedule()

    # --- Kubernetes

    def _poll(self) -> None:
        """KEDA. A Job whose pod has not begun to run is pending, and counts as running too."""
        living = [pod for pod in self.pods if pod.ended is None]
        pending = sum(pod.node is None for pod in living)
        counts = [self._count(queue) for queue in QUEUES]
        for _ in range(jobs_to_create(self._job, counts, running=len(living), pending=pending)):
            self.pods.append(Pod(created=self._now))
        self._schedule()
        self._at(self._now + self._cluster.polling, self._poll)

    def _schedule(self) -> None:
        """Pods go to free nodes, else to those of pause pods, which give way; pause pods go to what is left."""
        for pod in self._unscheduled():
            free = [node for node in self.nodes if node.is_free]
            if not free:
                return
            node = min(free, key=lambda node: node.held_since is not None)
            self._let_go(node)
            node.pod, pod.node = pod, node
            self._later(self._worker.start, pod, self._ask)
        for node in self.nodes:
            if node.is_free and node.held_since is None and self._held_nodes() < self._cluster.warm:
                node.held_since = self._now

    def _unscheduled(self) -> list[Pod]:
        return [pod for pod in self.pods if pod.ended is None and pod.node is None]

    def _held_nodes(self) -> int:
        return sum(node.held_since is not None for node in self.nodes)

    def _let_go(self, node: Node) -> None:
        if node.held_since is not None:
            self._held_seconds += self._now - node.held_since
            node.held_since = None

    def _scan(self) -> None:
        """The cluster-autoscaler: a node for each pod without one, less those on their way; away with the unneeded."""
        there = [node for node in self.nodes if node.gone is None]
        wanting = len(self._unscheduled()) + self._cluster.warm - self._held_nodes()
        coming = sum(not node.ready for node in there)
        for _ in range(min(wanting - coming, self._cluster.nodes - len(there))):
            self._last_add = self._now
            boot = self._drawn(self._cluster.boot, "node", len(self.nodes))
            node = Node(asked=self._now)
            self.nodes.append(node)
            self._at(self._now + boot, lambda node=node: self._joined(node))
        for node in there if self._now - self._last_add >= self._cluster.after_add else ():
            if node.is_free and node.held_since is None and self._now - node.free_since >= self._cluster.unneeded:
                node.gone = self._now
        self._at(self._now + self._cluster.scan, self._scan)

    def _joined(self, node: Node) -> None:
        node.ready, node.free_since = True, self._now
        self._schedule()

    def _reclaim(self) -> None:
        """Spot takes some of the nodes that have a worker."""
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
            self._counted(queue)
        self._end(pod)
        self._serve()

    def _vanish(self, node: Node) -> None:
        node.gone = self._now

    # --- what came of it

    def _outcome(self) -> Outcome:
        for node in self.nodes:
            self._let_go(node)
        up = sum((self._now if node.gone is None else node.gone) - node.asked for node in self.nodes)
        return Outcome(
            completion=tuple(shard.done - shard.arrived for shard in self.shards if shard.done is not None),
            pods=len(self.pods),
            useless=sum(not pod.had_work and not pod.was_lost for pod in self.pods),
            gpu_seconds=up - self._held_seconds,
            work_seconds=self._work_seconds,
            most_leases=self._most_leases,
            runs=sum(shard.runs for shard in self.shards),
        )
