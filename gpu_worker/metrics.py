"""What a worker tells on GET /metrics; names and units stand in `adapters.settings.worker_metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from adapters.settings import worker_metrics as names
from gpu_worker.computed import Computed
from gpu_worker.health import State
from gpu_worker.pulse import Pulse
from gpu_worker.settlement import Outcome

disable_created_metrics()  # a second series for each counter, which says when the process began

Metric = TypeVar("Metric", bound=MetricWrapperBase)


class Model(NamedTuple):
    """Labels of a model's series."""

    name: str
    version: str


OTHER = Model("other", "other")


class ProcessMetrics:
    """What every worker tells. Counters without a model are there from the start, at zero: a rate needs a value before
    the first event."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.idle_seconds = self._made(Counter, names.IDLE_SECONDS, "Seconds of asking for work and finding none.")
        self.failed_polls = self._made(Counter, names.FAILED_POLLS, "Times that queues or database did not answer.")

    def watch(self, *, state: Callable[[], State], pulse: Pulse) -> None:
        """What is asked for whenever somebody reads the metrics."""
        self._made(Gauge, names.SILENT_SECONDS, "Seconds since the work last went a step forward.").set_function(
            lambda: pulse.silent_seconds
        )
        gauge = self._made(Gauge, names.STATE, "1 for the state that the worker is in.", "state")
        for one in State:
            gauge.labels(one.value).set_function(lambda one=one: float(state() is one))

    def exposition(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)

    def _made(self, kind: type[Metric], name: str, help: str, *labels: str) -> Metric:
        return kind(name, help, labels, registry=self._registry)


class ShardMetrics(ProcessMetrics):
    """Of `gpu_worker`. A model's series begin at zero when its first shard is leased or told of."""

    def __init__(self, leases: Callable[[], int]) -> None:
        super().__init__()
        self._made(Gauge, names.LEASES_HELD, "Shards leased: the running one and the next.").set_function(leases)
        of = names.OF_A_MODEL
        made = self._made
        self._shards = made(Counter, names.SHARDS, "Shards whose work ended here.", *of, "outcome")
        self._failed = made(Counter, names.SHARDS_FAILED, "Shards that an error took from here.", *of, "reason")
        self._tiles = made(Counter, names.TILES, "Tiles that came to a result.", *of, "result")
        self._padded = made(Counter, names.TILES_PADDED, "Rows of batches computed for nothing.", *of)
        self._batches = made(Counter, names.BATCHES, "Batches computed.", *of)
        self._fill = made(Gauge, names.BATCH_FILL_RATIO, "Rows that held a tile, of the last shard's.", *of)
        self._busy = made(Gauge, names.GPU_BUSY_RATIO, "Time in the model, of the last shard's run.", *of)
        self._run = made(Counter, names.RUN_SECONDS, "Seconds from the first forward to the last.", *of)
        self._stages = made(Summary, names.STAGE_SECONDS, "Seconds of a stage at its own work.", *of, "stage")
        self._waits = made(Summary, names.STAGE_WAIT_SECONDS, "Seconds that a stage waited.", *of, "stage", "side")
        self._first = made(Summary, names.TIME_TO_FIRST_TILE_SECONDS, "Seconds from lease to first scores.", *of)
        self._cold = made(Gauge, names.COLD_START_SECONDS, "Seconds until the model took tiles.", *of, "phase")
        self._shard = made(Summary, names.SHARD_SECONDS, "Seconds with a shard, from lease to end.", *of)
        self._gets = made(Counter, names.S3_GETS, "Range requests for slides that were answered.")
        self._bytes = made(Counter, names.S3_BYTES, "Bytes of slides read.")
        self._models: set[Model] = set()

    def ended(self, outcome: Outcome, model: Model, *, code: str = "") -> None:
        """The work on a shard; `code` as the settlement has it."""
        of = self._known(model)
        self._shards.labels(*of, outcome.value).inc()
        if code:
            self._failed.labels(*of, code).inc()

    def took(self, seconds: float, model: Model) -> None:
        """A shard, from its lease to its end."""
        self._shard.labels(*self._known(model)).observe(seconds)

    def read(self, requests: int, size: int) -> None:
        """Range requests for a slide, and the bytes that they brought."""
        self._gets.inc(requests)
        self._bytes.inc(size)

    def started(self, phase: str, seconds: float, model: Model) -> None:
        """One of the phases (`adapters.settings.worker_metrics.PHASES`) of loading the model."""
        if phase not in names.PHASES:
            raise ValueError(f"{phase} is no phase of a start")
        self._cold.labels(*self._known(model), phase).set(seconds)

    def count_energy(self, joules: Callable[[], float]) -> None:
        """Of the device (`gpu_worker.energy`), asked for whenever somebody reads the metrics."""
        self._registry.register(_Energy(joules))

    def computed(self, work: Computed, model: Model) -> None:
        of = self._known(model)
        self._tiles.labels(*of, "inferred").inc(work.inferred)
        self._tiles.labels(*of, "unreadable").inc(work.unreadable)
        self._padded.labels(*of).inc(work.padded)
        self._batches.labels(*of).inc(work.batches)
        self._run.labels(*of).inc(work.seconds)
        for stage, seconds in work.stage_seconds.items():
            self._stages.labels(*of, stage).observe(seconds)
        for (stage, side), seconds in work.waits.items():
            self._waits.labels(*of, stage, side).observe(seconds)
        if work.inferred:
            self._fill.labels(*of).set(work.inferred / (work.inferred + work.padded))
        if work.seconds and "forward" in work.stage_seconds:
            self._busy.labels(*of).set(work.stage_seconds["forward"] / work.seconds)
        if work.first_tile_seconds is not None:
            self._first.labels(*of).observe(work.first_tile_seconds)

    def _known(self, model: Model) -> Model:
        """The labels of the model's series: its own, or those of all that came after the first
        `adapters.settings.worker_metrics.MODELS`."""
        if model not in self._models:
            if len(self._models) >= names.MODELS:
                return OTHER
            self._models.add(model)
            self._begin(model)
        return model

    def _begin(self, of: Model) -> None:
        for outcome in Outcome:
            self._shards.labels(*of, outcome.value)
        for result in ("inferred", "unreadable"):
            self._tiles.labels(*of, result)
        for stage in names.STAGES:
            self._stages.labels(*of, stage)
        for stage, side in names.WAITS:
            self._waits.labels(*of, stage, side)
        for one in (self._padded, self._batches, self._run, self._shard, self._first):
            one.labels(*of)


class _Energy(Collector):
    def __init__(self, joules: Callable[[], float]) -> None:
        self._joules = joules

    def collect(self) -> Iterator[CounterMetricFamily]:
        name = names.GPU_ENERGY_JOULES.removesuffix("_total")
        yield CounterMetricFamily(name, "Joules that the GPU used.", self._joules())


class PlanMetrics(ProcessMetrics):
    """Of `gpu_worker.heavy`."""

    def __init__(self, outcomes: Sequence[str]) -> None:
        super().__init__()
        self._plans = self._made(Counter, names.PLANS, "Plans that ended here.", "outcome")
        self._seconds = self._made(Summary, names.PLAN_SECONDS, "Seconds with a plan.")
        for outcome in outcomes:
            self._plans.labels(outcome)

    def ended(self, outcome: str, seconds: float) -> None:
        self._plans.labels(outcome).inc()
        self._seconds.observe(seconds)
