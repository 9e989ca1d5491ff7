"""The nodes of a simulated cluster: the autoscaler adds and removes them, pause pods hold some, spot takes others.

All steps take time that does not grow with the number of nodes, except the loss of a share of them.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.keda_scaling.agenda import Agenda
from benchmarks.keda_scaling.queues import SimulatedShard
from benchmarks.keda_scaling.spreads import Between, Spread

_BOOT = Between(210.0, 270.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """The cluster around the worker. Times are in s; for a pair, a number between both is drawn each time."""

    polling: float  #: KEDA's
    unneeded: float  #: the autoscaler removes a node that has had no pod for this long
    after_add: float  #: the autoscaler removes no node for this long after it requested one
    scan: float = 10.0  #: between two scans of the cluster-autoscaler
    boot: Spread = _BOOT  #: from the request of a node until the image is there
    lag: float = 60.0  #: the largest age of SQS's counts
    work: tuple[float, float] = (45.0, 75.0)  #: of a shard
    nodes: int = 24  #: the most on spot
    on_demand_nodes: int = 0  #: the most on demand, which spot capacity that ends makes the autoscaler ask for
    refusal: float = 0.0  #: from a request without spot capacity until the autoscaler asks for another group
    backoff: float = 300.0  #: for which it asks the spot group no more
    warm: int = 0  #: nodes held by pause pods
    spot_hours: float = math.inf  #: mean life of a spot node until spot reclaims it
    lost_share: float = 0.0  #: of the nodes with a worker, to a spot reclaim
    lost_at: tuple[float, float] = (330.0, 420.0)
    notice: float = 120.0


@dataclass(eq=False, slots=True)
class Node:
    number: int
    asked: float
    is_spot: bool = True
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
    number: int
    created: float
    node: Node | None = None
    ended: float | None = None
    held: deque[SimulatedShard] = field(default_factory=deque[SimulatedShard])  #: the first one runs
    began: float = 0.0  #: the running shard
    hungry: bool = False  #: would take a shard now
    waits: bool = False  #: runs none
    looks_until: float = 0.0  #: the end of the look that found nothing
    had_work: bool = False
    was_lost: bool = False
    epoch: int = 0  #: of the pod's life; actions planned in an earlier one are dropped


class Nodes:
    """The nodes, and the pods that wait for one."""

    def __init__(
        self,
        cluster: Cluster,
        agenda: Agenda,
        *,
        seed: int,
        on_placed: Callable[[Pod], None],
        on_reclaimed: Callable[[Pod], None],
    ) -> None:
        self.all: list[Node] = []
        self.there, self.held = {True: 0, False: 0}, 0  #: those not gone, by whether they are on spot; held ones
        self.held_seconds = 0.0
        self._cluster, self._agenda, self._seed = cluster, agenda, seed
        self._on_placed, self._on_reclaimed = on_placed, on_reclaimed
        self._warm = cluster.warm
        self._waiting: deque[Pod] = deque()
        self._coming = 0  #: not ready yet
        self._free: list[int] = []  #: numbers of nodes without any pod, and of some that are gone; a heap
        self._paused: list[int] = []  #: likewise of nodes with a pause pod
        self._last_add = -math.inf
        self._refused_until, self._spot_asked_after = -math.inf, -math.inf

    @property
    def count(self) -> int:
        return self.there[True] + self.there[False]

    @property
    def pending(self) -> int:
        """Pods without a node."""
        return len(self._waiting)

    def add_ready(self, *, held: bool) -> Node:
        """Add a node that is there already, with a pause pod or without."""
        node = self._add(is_spot=True)
        self._coming -= 1
        node.ready = True
        if held:
            self._hold(node)
        else:
            heapq.heappush(self._free, node.number)
        return node

    def place(self, pod: Pod) -> None:
        """Have the pod wait for a node. `assign_pods` gives it one."""
        self._waiting.append(pod)

    def release(self, node: Node) -> None:
        """Free the node of its pod."""
        node.pod, node.free_since = None, self._agenda.now
        if node.is_free:
            heapq.heappush(self._free, node.number)

    def set_warm(self, count: int) -> None:
        """Keep another number of nodes warm from now on."""
        self._warm = count
        while self.held > count:
            node = self._pop(self._paused)
            if node is None:
                raise AssertionError("a held node is in the heap")
            self._let_go(node)
            node.free_since = self._agenda.now
            heapq.heappush(self._free, node.number)
        self.assign_pods()

    def assign_pods(self) -> None:
        """Assign pods to free nodes, else to those of pause pods, which give way; pause pods get what is left."""
        while self._waiting:
            node = self._pop(self._free) or self._pop(self._paused)
            if node is None:
                return
            self._let_go(node)
            pod = self._waiting.popleft()
            node.pod, pod.node = pod, node
            self._on_placed(pod)
        while self.held < self._warm:
            node = self._pop(self._free)
            if node is None:
                return
            self._hold(node)

    def scan(self) -> None:
        """Add a node for each pod without one, less those that are booting, and remove unneeded nodes, as the
        cluster-autoscaler does."""
        now = self._agenda.now
        self._ask(len(self._waiting) + self._warm - self.held - self._coming)
        if now - self._last_add >= self._cluster.after_add and self._free:
            kept: list[int] = []
            for number in self._free:
                node = self.all[number]
                if not node.is_free:
                    continue
                if now - node.free_since >= self._cluster.unneeded:
                    self._remove(node)
                else:
                    kept.append(number)
            heapq.heapify(kept)
            self._free = kept

    def reclaim_share(self, share: float) -> None:
        """Reclaim a share of the spot nodes with a worker, at once."""
        busy = [node for node in self.all if node.pod and node.gone is None and not node.lost and node.is_spot]
        for node in random.Random(f"{self._seed}/which").sample(busy, math.ceil(len(busy) * share)):
            self.reclaim(node)

    def reclaim(self, node: Node) -> None:
        """Tell the node's worker that spot takes the node back, and do so after the notice."""
        if node.lost or node.gone is not None:
            return
        self._let_go(node)
        node.lost = True
        if node.pod is not None:
            self._on_reclaimed(node.pod)
        self._agenda.run_later(self._cluster.notice, lambda: self._remove(node))

    def let_all_go(self) -> None:
        """Count the time that pause pods have held their nodes until now."""
        for node in self.all:
            self._let_go(node)

    def _ask(self, missing: int) -> None:
        """Request nodes on spot. When spot has none, ask for nodes on demand a while later, and spot no more for some
        minutes, as the autoscaler's priority expander does."""
        now, cluster = self._agenda.now, self._cluster
        if now >= self._spot_asked_after:
            spot = min(missing, cluster.nodes - self.there[True])
            for _ in range(spot):
                self._request(is_spot=True)
            missing -= max(0, spot)
            if missing > 0 and cluster.on_demand_nodes:
                self._refused_until = now + cluster.refusal
                self._spot_asked_after = self._refused_until + cluster.backoff
        if now >= self._refused_until and self._spot_asked_after > now:
            for _ in range(min(missing, cluster.on_demand_nodes - self.there[False])):
                self._request(is_spot=False)

    def _request(self, *, is_spot: bool) -> None:
        self._last_add = self._agenda.now
        node = self._add(is_spot=is_spot)
        boot = self._cluster.boot.draw(random.Random(f"{self._seed}/node/{node.number}"))
        self._agenda.run_later(boot, lambda: self._join(node))

    def _add(self, *, is_spot: bool) -> Node:
        node = Node(number=len(self.all), asked=self._agenda.now, is_spot=is_spot)
        self.all.append(node)
        self.there[is_spot] += 1
        self._coming += 1
        return node

    def _join(self, node: Node) -> None:
        node.ready, node.free_since = True, self._agenda.now
        self._coming -= 1
        heapq.heappush(self._free, node.number)
        if node.is_spot and self._cluster.spot_hours < math.inf:
            life = random.Random(f"{self._seed}/life/{node.number}").expovariate(1 / (self._cluster.spot_hours * 3600))
            self._agenda.run_later(life, lambda: self.reclaim(node))
        self.assign_pods()

    def _remove(self, node: Node) -> None:
        if node.gone is None:
            node.gone = self._agenda.now
            self.there[node.is_spot] -= 1

    def _pop(self, heap: list[int]) -> Node | None:
        """Return the first node of the heap that is still free, and take it out."""
        while heap:
            node = self.all[heapq.heappop(heap)]
            if node.is_free:
                return node
        return None

    def _hold(self, node: Node) -> None:
        node.held_since = self._agenda.now
        self.held += 1
        heapq.heappush(self._paused, node.number)

    def _let_go(self, node: Node) -> None:
        if node.held_since is not None:
            self.held_seconds += self._agenda.now - node.held_since
            node.held_since = None
            self.held -= 1
