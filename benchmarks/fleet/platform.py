"""The simulated platform, event by event: a slide goes from its upload through inspection, the client's job, a plan,
the outbox, shards on GPU workers and stitching to its results."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.fleet.functions import FunctionQueue, FunctionTerms
from benchmarks.fleet.outbox import RelayTerms, SimulatedOutbox
from benchmarks.fleet.samples import FleetSample
from benchmarks.fleet.slides import SimulatedSlide, split_tiles
from benchmarks.keda_scaling.agenda import Agenda
from benchmarks.keda_scaling.formulas import ScaledJob
from benchmarks.keda_scaling.nodes import Cluster
from benchmarks.keda_scaling.queues import SimulatedShard
from benchmarks.keda_scaling.spreads import Spread
from benchmarks.keda_scaling.workers import SimulatedWorker, SimulatedWorkers

INSPECT, PLAN, HEAVY, STITCH, NOTIFY = "inspect", "plan", "heavy", "stitch", "notify"
#: Rows of pushes at each state of a job: queued, planning, running, stitching and completed (cdk/scale/load.py).
PUSHES_OF_PLANNING, PUSHES_OF_STITCHING = 2, 1
SAMPLE_SECONDS = 60.0
HORIZON = 10 * 86_400.0  #: s after which a day must have ended

OnProgress = Callable[[int], None]  #: gets the number of finished slides


def ignore_progress(done: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformTerms:
    """The numbers of one installation, or of one embedded stack. Times are in s."""

    functions: Mapping[str, FunctionTerms]  #: by queue
    relay: RelayTerms
    scaled_job: ScaledJob
    worker: SimulatedWorker
    cluster: Cluster
    tile_seconds: float  #: of a worker
    planner_rate: float  #: tiles a second that the planner sizes shards for
    commit_seconds: float = 0.0  #: of a worker, from a shard's last tile to its commit
    shard_tiles: int | None = None
    client_look: float  #: at most, from an inspection's end to the client's look
    client_request: Spread
    fixed_workers: int | None = None  #: always there, without KEDA; None: KEDA's
    warm_hours: tuple[float, float] | None = None  #: of the day, in which the cluster's warm nodes are kept
    loses_share_at: tuple[float, float] | None = None  #: (s, share) of the spot nodes with a worker


class SimulatedPlatform:
    """One day. `run` may be called once."""

    def __init__(self, terms: PlatformTerms, *, seed: int) -> None:
        self.terms = terms
        self.agenda = Agenda()
        self.slides: list[SimulatedSlide] = []
        self.samples: list[FleetSample] = []
        self._seed = seed
        self._random = random.Random(f"{seed}/clients")
        ends: dict[str, Callable[[SimulatedSlide], None]] = {
            INSPECT: self._on_inspected,
            PLAN: self._on_planned,
            HEAVY: self._on_planned,
            STITCH: self._on_stitched,
            NOTIFY: _forget,
        }
        self.functions = {
            name: FunctionQueue(name, terms.functions[name], self.agenda, seed=seed, on_done=end)
            for name, end in ends.items()
        }
        self.outbox = SimulatedOutbox(terms.relay, self.agenda)
        warm = 0 if terms.warm_hours else terms.cluster.warm
        self.workers = SimulatedWorkers(
            terms.scaled_job,
            terms.worker,
            replace(terms.cluster, warm=warm),
            self.agenda,
            seed=seed,
            on_done=self._on_shard,
        )
        self._expected = self._done = 0

    @property
    def done(self) -> int:
        return self._done

    def run(self, slides: Sequence[SimulatedSlide], *, on_progress: OnProgress = ignore_progress) -> None:
        """Run until all slides have results and the last node is gone. `on_progress` gets the finished slides once a
        simulated minute. Raises RuntimeError if the day has not ended in many days."""
        self._expected = len(slides)
        for slide in slides:
            self.agenda.run_at(slide.uploaded, lambda slide=slide: self._on_uploaded(slide))
        self._begin_workers()
        self._sample(on_progress)
        while not self._is_over():
            self.agenda.step()
            if self.agenda.now > HORIZON:
                raise RuntimeError(f"not over after {HORIZON / 86_400:.0f} days: {self._done:,} slides are done")
        self.workers.nodes.let_all_go()

    def _is_over(self) -> bool:
        if self._done < self._expected or not (self.terms.fixed_workers is not None or self.workers.is_idle):
            return False
        return self.terms.warm_hours is None or self.workers.nodes.count == 0

    def _begin_workers(self) -> None:
        terms, cluster = self.terms, self.terms.cluster
        if terms.fixed_workers is not None:
            self.workers.begin_fixed(terms.fixed_workers)
            return
        source = random.Random(f"{self._seed}/phases")
        self.workers.begin(
            poll_at=source.uniform(0, cluster.polling),
            scan_at=source.uniform(0, cluster.scan),
            warm=0 if terms.warm_hours else cluster.warm,
        )
        if terms.warm_hours:
            begins, ends = terms.warm_hours
            self.agenda.run_at(begins, lambda: self.workers.nodes.set_warm(cluster.warm))
            self.agenda.run_at(ends, lambda: self.workers.nodes.set_warm(0))
        if terms.loses_share_at:
            at, share = terms.loses_share_at
            self.agenda.run_at(at, lambda: self.workers.nodes.reclaim_share(share))

    # --- a slide

    def _on_uploaded(self, slide: SimulatedSlide) -> None:
        self.slides.append(slide)
        self.outbox.commit(lambda: self.functions[INSPECT].send(slide))

    def _on_inspected(self, slide: SimulatedSlide) -> None:
        slide.inspected = self.agenda.now
        look = self._random.uniform(0, self.terms.client_look) + self.terms.client_request.draw(self._random)
        self.agenda.run_later(look, lambda: self._on_submitted(slide))

    def _on_submitted(self, slide: SimulatedSlide) -> None:
        queue = self.functions[HEAVY if slide.is_heavy else PLAN]
        self.outbox.commit(lambda: queue.send(slide), pushes=1)

    def _on_planned(self, slide: SimulatedSlide) -> None:
        slide.planned = self.agenda.now
        terms = self.terms
        tiles = split_tiles(slide.tiles, terms.planner_rate, terms.shard_tiles)
        slide.shards_left = len(tiles)
        shards = [
            SimulatedShard(
                queue="normal",
                arrived=self.agenda.now,
                left=count * terms.tile_seconds + terms.commit_seconds,
                owner=slide,
            )
            for count in tiles
        ]
        messages = [lambda shard=shard: self.workers.send((shard,)) for shard in shards]
        self.outbox.commit(*messages, pushes=PUSHES_OF_PLANNING)

    def _on_shard(self, shard: SimulatedShard) -> None:
        slide = shard.owner
        if not isinstance(slide, SimulatedSlide):
            raise TypeError("every shard here is one of a slide")
        slide.shards_left -= 1
        if slide.shards_left:
            self.outbox.commit(pushes=1)
        else:
            slide.computed = self.agenda.now
            self.outbox.commit(lambda: self.functions[STITCH].send(slide), pushes=1 + PUSHES_OF_STITCHING)

    def _on_stitched(self, slide: SimulatedSlide) -> None:
        slide.done = self.agenda.now
        self._done += 1
        self.outbox.commit(lambda: self.functions[NOTIFY].send(slide), pushes=1)

    # --- what is seen

    def _sample(self, on_progress: OnProgress) -> None:
        nodes = self.workers.nodes
        self.samples.append(
            FleetSample(
                at=self.agenda.now,
                spot=nodes.there[True],
                on_demand=nodes.there[False],
                running=self.workers.running,
                waiting=self.workers.queues.waiting,
            )
        )
        on_progress(self._done)
        self.agenda.run_later(SAMPLE_SECONDS, lambda: self._sample(on_progress))


def _forget(slide: SimulatedSlide) -> None:
    """Take no further step with it."""
