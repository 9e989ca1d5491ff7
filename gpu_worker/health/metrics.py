"""The metrics that a worker exposes on GET /metrics; `adapters.settings.worker_metrics` has their names and units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from adapters.settings import worker_metrics as names
from gpu_worker.health.pulse import Pulse
from gpu_worker.health.server import State
from gpu_worker.leases.settlement import ShardOutcome
from inference.shard_stats import ShardStats

disable_created_metrics()  # a second series for each counter, which says when the process began

Metric = TypeVar("Metric", bound=MetricWrapperBase)


class Model(NamedTuple):
    """Labels of a model's series."""

    name: str
    version: str


OTHER = Model("other", "other")


class ProcessMetrics:
    """The metrics of every worker. Counters without a model begin at zero: a rate needs a value before the first
    event."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.idle_seconds = self._make(Counter, names.IDLE_SECONDS, "Seconds of asking for work and finding none.")
        self.failed_polls = self._make(Counter, names.FAILED_POLLS, "Times that queues or database did not answer.")

    def watch(self, *, state: Callable[[], State], pulse: Pulse) -> None:
        """Add the metrics that are computed whenever they are read."""
        self._make(Gauge, names.SILENT_SECONDS, "Seconds since the work last went a step forward.").set_function(
            lambda: pulse.silent_seconds
        )
        gauge = self._make(Gauge, names.STATE, "1 for the state that the worker is in.", "state")
        for one in State:
            gauge.labels(one.value).set_function(lambda one=one: float(state() is one))

    def count_lost_spans(self, lost: Callable[[], int]) -> None:
        """Add the number of spans of traces that could not be sent."""
        self._registry.register(_ReadCounter(names.SPANS_LOST, "Spans of traces that could not be sent.", lost))

    def format_metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _make(self, kind: type[Metric], name: str, help: str, *labels: str) -> Metric:
        return kind(name, help, labels, registry=self._registry)


class ShardMetrics(ProcessMetrics):
    """The metrics of `gpu_worker`. A model's series begin at zero when its first shard is leased or reported."""

    def __init__(self, leases: Callable[[], int]) -> None:
        super().__init__()
        self._make(Gauge, names.LEASES_HELD, "Shards leased: the running one and the next.").set_function(leases)
        of = names.OF_A_MODEL
        make = self._make
        self._shards = make(Counter, names.SHARDS, "Shards whose work ended here.", *of, "outcome")
        self._failed = make(Counter, names.SHARDS_FAILED, "Shards that an error took from here.", *of, "reason")
        self._tiles = make(Counter, names.TILES, "Tiles that came to a result.", *of, "result")
        self._padded = make(Counter, names.TILES_PADDED, "Rows of batches computed for nothing.", *of)
        self._batches = make(Counter, names.BATCHES, "Batches computed.", *of)
        self._fill = make(Gauge, names.BATCH_FILL_RATIO, "Rows that held a tile, of the last shard's.", *of)
        self._busy = make(Gauge, names.GPU_BUSY_RATIO, "Time in the model, of the last shard's run.", *of)
        self._run = make(Counter, names.RUN_SECONDS, "Seconds from the first forward to the last.", *of)
        self._stages = make(Summary, names.STAGE_SECONDS, "Seconds of a stage at its own work.", *of, "stage")
        self._waits = make(Summary, names.STAGE_WAIT_SECONDS, "Seconds that a stage waited.", *of, "stage", "side")
        self._first = make(Summary, names.TIME_TO_FIRST_TILE_SECONDS, "Seconds from lease to first scores.", *of)
        self._cold = make(Gauge, names.COLD_START_SECONDS, "Seconds until the model took tiles.", *of, "phase")
        self._shard = make(Summary, names.SHARD_SECONDS, "Seconds with a shard, from lease to end.", *of)
        self._gets = make(Counter, names.S3_GETS, "Range requests for slides that were answered.")
        self._bytes = make(Counter, names.S3_BYTES, "Bytes of slides read.")
        self._models: set[Model] = set()

    def count_shard(self, outcome: ShardOutcome, model: Model, *, code: str = "") -> None:
        """Count a shard whose work ended; `code` is the settlement's."""
        of = self._labels_of(model)
        self._shards.labels(*of, outcome.value).inc()
        if code:
            self._failed.labels(*of, code).inc()

    def observe_shard(self, seconds: float, model: Model) -> None:
        """Record the seconds of a shard, from its lease to its end."""
        self._shard.labels(*self._labels_of(model)).observe(seconds)

    def count_reads(self, requests: int, size: int) -> None:
        """Count range requests for a slide, and the bytes that they returned."""
        self._gets.inc(requests)
        self._bytes.inc(size)

    def set_cold_start(self, phase: str, seconds: float, model: Model) -> None:
        """Record the seconds of a phase (`adapters.settings.worker_metrics.PHASES`) of loading the model."""
        if phase not in names.PHASES:
            raise ValueError(f"{phase} is no phase of a start")
        self._cold.labels(*self._labels_of(model), phase).set(seconds)

    def count_energy(self, joules: Callable[[], float]) -> None:
        """Add the energy of the device (`inference.energy`), which is read whenever the metrics are."""
        self._registry.register(_ReadCounter(names.GPU_ENERGY_JOULES, "Joules that the GPU used.", joules))

    def record(self, stats: ShardStats, model: Model) -> None:
        """Record what the engine did for a shard."""
        of = self._labels_of(model)
        self._tiles.labels(*of, "inferred").inc(stats.inferred)
        self._tiles.labels(*of, "unreadable").inc(stats.unreadable)
        self._padded.labels(*of).inc(stats.padded)
        self._batches.labels(*of).inc(stats.batches)
        self._run.labels(*of).inc(stats.seconds)
        for stage, seconds in stats.stage_seconds.items():
            self._stages.labels(*of, stage).observe(seconds)
        for (stage, side), seconds in stats.waits.items():
            self._waits.labels(*of, stage, side).observe(seconds)
        if stats.inferred:
            self._fill.labels(*of).set(stats.inferred / (stats.inferred + stats.padded))
        if stats.seconds and "forward" in stats.stage_seconds:
            self._busy.labels(*of).set(stats.stage_seconds["forward"] / stats.seconds)
        if stats.first_tile_seconds is not None:
            self._first.labels(*of).observe(stats.first_tile_seconds)

    def _labels_of(self, model: Model) -> Model:
        """Return the labels of the model's series: its own, or `OTHER` for all models after the first
        `adapters.settings.worker_metrics.MODELS`."""
        if model not in self._models:
            if len(self._models) >= names.MODELS:
                return OTHER
            self._models.add(model)
            self._begin_series(model)
        return model

    def _begin_series(self, of: Model) -> None:
        for outcome in ShardOutcome:
            self._shards.labels(*of, outcome.value)
        for result in ("inferred", "unreadable"):
            self._tiles.labels(*of, result)
        for stage in names.STAGES:
            self._stages.labels(*of, stage)
        for stage, side in names.WAITS:
            self._waits.labels(*of, stage, side)
        for one in (self._padded, self._batches, self._run, self._shard, self._first):
            one.labels(*of)


class _ReadCounter(Collector):
    """A counter whose value somebody else keeps; it is read whenever the metrics are."""

    def __init__(self, name: str, help: str, read: Callable[[], float]) -> None:
        self._name, self._help, self._read = name.removesuffix("_total"), help, read

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._help, self._read())


class PlanMetrics(ProcessMetrics):
    """The metrics of `gpu_worker.heavy`."""

    def __init__(self, outcomes: Sequence[str]) -> None:
        super().__init__()
        self._plans = self._make(Counter, names.PLANS, "Plans that ended here.", "outcome")
        self._seconds = self._make(Summary, names.PLAN_SECONDS, "Seconds with a plan.")
        for outcome in outcomes:
            self._plans.labels(outcome)

    def count_plan(self, outcome: str, seconds: float) -> None:
        """Count a plan that ended here, and record its seconds."""
        self._plans.labels(outcome).inc()
        self._seconds.observe(seconds)
