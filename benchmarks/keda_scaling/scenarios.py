"""The settings that we deploy, alternatives to them, and the days on which all are simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from adapters.settings import scaling
from benchmarks.keda_scaling.formulas import Calculation, ScaledJob, Strategy
from benchmarks.keda_scaling.model import Simulation, SimulationOutcome
from benchmarks.keda_scaling.nodes import Cluster
from benchmarks.keda_scaling.workers import SimulatedWorker

SEEDS = range(20)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    name: str
    scaled_job: ScaledJob
    worker: SimulatedWorker
    cluster: Cluster


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """Shards that arrive, and what else happens."""

    name: str
    arrivals: Sequence[tuple[float, str, int]]  #: (s, queue, shards)
    warm: int = 0
    lost_share: float = 0.0
    work: tuple[float, float] = (45.0, 75.0)


CHOSEN = Settings(
    name="**chosen**",
    scaled_job=ScaledJob(
        strategy=cast("Strategy", scaling.STRATEGY),
        scale_on_in_flight=scaling.SCALE_ON_IN_FLIGHT,
        queue_length=scaling.SHARDS_A_WORKER,
        calculation=cast("Calculation", scaling.CALCULATION),
        activation_length=scaling.ACTIVATION_LENGTH,
        max_replicas=24,  # the preset prod: 20 spot nodes and 4 of the fallback
    ),
    worker=SimulatedWorker(leases=scaling.LEASES_HELD, idle=scaling.IDLE_SECONDS),
    cluster=Cluster(
        polling=scaling.POLLING_SECONDS,
        unneeded=scaling.NODE_UNNEEDED_SECONDS,
        after_add=scaling.NODE_UNNEEDED_SECONDS,
        nodes=24,
    ),
)


def _with(name: str, *, idle: float | None = None, unneeded: float | None = None, **job: object) -> Settings:
    worker = CHOSEN.worker if idle is None else replace(CHOSEN.worker, idle=idle)
    cluster = CHOSEN.cluster if unneeded is None else replace(CHOSEN.cluster, unneeded=unneeded, after_add=unneeded)
    return Settings(name=name, scaled_job=replace(CHOSEN.scaled_job, **job), worker=worker, cluster=cluster)


ALTERNATIVES = (
    _with("queueLength 2", queue_length=2),
    _with("queueLength 4", queue_length=4),
    _with("idle 60 s", idle=60.0),
    _with("idle 120 s", idle=120.0),
    _with("nodes go after 10 min, the autoscaler's default", unneeded=600.0),
)
WRONG = (
    _with("accurate, in flight counted", strategy="accurate"),
    _with("accurate, in flight not counted", strategy="accurate", scale_on_in_flight=False),
    _with("in flight not counted", scale_on_in_flight=False),
    _with("queueLength 1", queue_length=1),
    _with("max instead of sum", calculation="max"),
    _with("eager", strategy="eager"),
    _with("idle 10 s", idle=10.0),
)

BURSTS = tuple(Day(name=str(count), arrivals=((0.0, "normal", count),)) for count in (3, 20, 60))
WARM_BURSTS = tuple(replace(day, warm=1) for day in BURSTS)
OTHER_DAYS = (
    Day(name="20, and 20 more after 5 min", arrivals=((0.0, "normal", 20), (300.0, "normal", 20))),
    Day(name="20 over three queues", arrivals=((0.0, "high", 6), (0.0, "normal", 8), (0.0, "low", 6))),
    Day(name="6 every 5 min, for an hour", arrivals=tuple((300.0 * n, "normal", 6) for n in range(12))),
    Day(name="60, spot takes a third", arrivals=((0.0, "normal", 60),), lost_share=1 / 3),
    Day(
        name="one a minute, for an hour, of 10 min",
        arrivals=tuple((60.0 * n, "normal", 1) for n in range(60)),
        work=(450.0, 750.0),
    ),
)


def simulate_day(settings: Settings, day: Day) -> list[SimulationOutcome]:
    """Run the day under these settings; return one outcome per seed."""
    cluster = replace(settings.cluster, warm=day.warm, lost_share=day.lost_share, work=day.work)
    return [Simulation(settings.scaled_job, settings.worker, cluster, seed=seed).run(day.arrivals) for seed in SEEDS]
