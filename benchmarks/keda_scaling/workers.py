"""The workers of a simulated cluster, and KEDA, which creates them."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.keda_scaling.agenda import Agenda
from benchmarks.keda_scaling.formulas import ScaledJob, count_jobs_to_create
from benchmarks.keda_scaling.nodes import Cluster, Nodes, Pod
from benchmarks.keda_scaling.queues import ShardQueues, SimulatedShard


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedWorker:
    """The worker's own behaviour. Times are in s."""

    leases: int
    idle: float
    start: float = 30.0  #: from the container's start to the first poll: imports, CUDA, the model
    drain: float = 15.0  #: from the notice to the last lease given back
    resume: float = 5.0  #: added to a shard that resumes elsewhere
    first: float = 0.0  #: added to a shard that a worker without another one leases: its preparation
    poll: float = (
        0.0  #: of a look that finds nothing, which sees no shard that comes meanwhile; 0: looks see all at once
    )


class SimulatedWorkers:
    """Pods that lease shards, on the nodes that they need. `on_done` gets each shard that is committed."""

    def __init__(
        self,
        scaled_job: ScaledJob,
        worker: SimulatedWorker,
        cluster: Cluster,
        agenda: Agenda,
        *,
        seed: int,
        on_done: Callable[[SimulatedShard], None],
    ) -> None:
        self.pods: list[Pod] = []
        self.queues = ShardQueues(cluster.lag)
        self.living = self.running = 0  #: pods that have not ended; those that compute a shard
        self.work_seconds = 0.0
        self.most_leases = 0  #: that one worker held
        self.nodes = Nodes(cluster, agenda, seed=seed, on_placed=self._start, on_reclaimed=self._drain)
        self._job, self._worker, self._cluster, self._agenda = scaled_job, worker, cluster, agenda
        self._on_done = on_done
        self._random = random.Random(f"{seed}/counts")
        self._waiting: list[int] = []  #: numbers of pods that wait for a shard, and of some that did; a heap
        self._ahead: list[int] = []  #: likewise of those that would lease the next one while they compute

    @property
    def is_idle(self) -> bool:
        """True if no pod is left, and no node but those that are held."""
        return self.living == 0 and self.nodes.count == self.nodes.held

    def begin(self, *, poll_at: float, scan_at: float, warm: int) -> None:
        """Let KEDA and the autoscaler begin at these times."""
        for _ in range(warm):
            self.nodes.add_ready(held=True)
        self._agenda.run_at(poll_at, self._poll)
        self._agenda.run_at(scan_at, self._scan)

    def begin_fixed(self, count: int) -> None:
        """Start as many workers as there will ever be, on nodes that are there."""
        for _ in range(count):
            self.nodes.add_ready(held=False)
            self._create()
        self.nodes.assign_pods()

    def send(self, shards: Iterable[SimulatedShard]) -> None:
        """Put shards into their queues, and offer them to the workers, idle ones first: these ask every second, and
        busy ones at each batch."""
        self.queues.send(shards, self._agenda.now)
        self._serve()

    # --- workers

    def _serve(self) -> None:
        while self.queues.waiting:
            pod = self._pop(self._waiting, waits=True) or self._pop(self._ahead, waits=False)
            if pod is None:
                return
            self._take(pod)

    def _pop(self, heap: list[int], *, waits: bool) -> Pod | None:
        """Return the first pod of the heap that still wants a shard in this way."""
        while heap:
            pod = self.pods[heapq.heappop(heap)]
            if pod.hungry and pod.waits == waits:
                return pod
        return None

    def _take(self, pod: Pod) -> bool:
        shard = self.queues.receive(self._agenda.now)
        if shard is None:
            return False
        pod.held.append(shard)
        pod.had_work = True
        pod.hungry = False
        self.most_leases = max(self.most_leases, len(pod.held))
        if pod.waits:
            shard.left += self._worker.first
            self._compute(pod)
        return True

    def _later(self, seconds: float, pod: Pod, action: Callable[[Pod], None]) -> None:
        """Run the action in `seconds`, unless the pod has entered another epoch by then."""
        epoch = pod.epoch
        self._agenda.run_later(seconds, lambda: action(pod) if pod.epoch == epoch else None)

    def _start(self, pod: Pod) -> None:
        self._later(self._worker.start, pod, self._wait)

    def _wait(self, pod: Pod) -> None:
        """Take a shard for an idle worker, which ends if it gets none for `idle` seconds."""
        pod.epoch += 1
        pod.waits = pod.hungry = True
        if not self._ask(pod):
            self._later(self._worker.idle, pod, self._end)

    def _ask(self, pod: Pod) -> bool:
        """Take a shard for a hungry worker now, or as soon as it sees one. Return whether it got one at once."""
        now = self._agenda.now
        if now < pod.looks_until:
            self._later(pod.looks_until - now, pod, self._look)
        elif self._take(pod):
            return True
        elif self._worker.poll:
            pod.looks_until = now + self._worker.poll
            self._later(self._worker.poll, pod, self._look)
        else:
            heapq.heappush(self._waiting if pod.waits else self._ahead, pod.number)
        return False

    def _look(self, pod: Pod) -> None:
        if pod.hungry:
            self._ask(pod)

    def _compute(self, pod: Pod) -> None:
        pod.epoch += 1
        pod.waits = pod.hungry = False
        pod.began = self._agenda.now
        self.running += 1
        shard = pod.held[0]
        shard.runs += 1
        if self._worker.leases > 1:
            self._later(shard.left / 2, pod, self._look_ahead)
        self._later(shard.left, pod, self._commit)

    def _look_ahead(self, pod: Pod) -> None:
        pod.hungry = True
        self._ask(pod)

    def _commit(self, pod: Pod) -> None:
        now = self._agenda.now
        shard = pod.held.popleft()
        shard.done = now
        self.running -= 1
        self.work_seconds += now - pod.began
        self.queues.delete(shard, now)
        self._on_done(shard)
        if pod.held:
            self._compute(pod)
        else:
            self._wait(pod)

    def _end(self, pod: Pod) -> None:
        """Complete the pod's Job and free its node."""
        pod.epoch += 1
        pod.waits = pod.hungry = False
        pod.ended = self._agenda.now
        self.living -= 1
        if pod.node is not None:
            self.nodes.release(pod.node)
        self.nodes.assign_pods()

    def _drain(self, pod: Pod) -> None:
        """Have a pod whose node spot reclaims stop, and give back what it holds a little later."""
        pod.was_lost = True
        pod.epoch += 1
        pod.waits = pod.hungry = False
        if pod.held:
            ran = self._agenda.now - pod.began
            self.running -= 1
            self.work_seconds += ran
            pod.held[0].left += self._worker.resume - ran
        self._later(self._worker.drain, pod, self._give_back)

    def _give_back(self, pod: Pod) -> None:
        shards = [pod.held.pop() for _ in range(len(pod.held))]
        self.queues.give_back(shards, self._agenda.now)
        self._end(pod)
        self._serve()

    # --- KEDA and the autoscaler

    def _poll(self) -> None:
        """Create Jobs as KEDA does. A Job whose pod has no node yet is pending, and counts as running too."""
        counts = self.queues.count(self._agenda.now, self._random)
        for _ in range(count_jobs_to_create(self._job, counts, running=self.living, pending=self.nodes.pending)):
            self._create()
        self.nodes.assign_pods()
        self._agenda.run_later(self._cluster.polling, self._poll)

    def _create(self) -> None:
        pod = Pod(number=len(self.pods), created=self._agenda.now)
        self.pods.append(pod)
        self.living += 1
        self.nodes.place(pod)

    def _scan(self) -> None:
        self.nodes.scan()
        self._agenda.run_later(self._cluster.scan, self._scan)
