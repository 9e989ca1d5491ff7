"""What a worker tells on GET /metrics; names and units stand in `adapters.settings.worker_metrics`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest

from adapters.settings import worker_metrics as names
from gpu_worker.health import State
from gpu_worker.pipeline import Run
from gpu_worker.pulse import Pulse
from gpu_worker.settlement import Outcome

disable_created_metrics()  # a second series for each counter, which says when the process began


class ProcessMetrics:
    """What every worker tells. Counters are there from the start, at zero: a rate needs a value before the first
    event."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.idle_seconds = self._counter(names.IDLE_SECONDS, "Seconds of asking for work and finding none.")
        self.failed_polls = self._counter(names.FAILED_POLLS, "Times that queues or database did not answer.")

    def watch(self, *, state: Callable[[], State], pulse: Pulse) -> None:
        """What is asked for whenever somebody reads the metrics."""
        self._gauge(names.SILENT_SECONDS, "Seconds since the work last went a step forward.").set_function(
            lambda: pulse.silent_seconds
        )
        gauge = self._gauge(names.STATE, "1 for the state that the worker is in.", "state")
        for one in State:
            gauge.labels(one.value).set_function(lambda one=one: float(state() is one))

    def exposition(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, help: str, label: str | None = None, values: Sequence[str] = ()) -> Counter:
        counter = Counter(name, help, [label] if label else [], registry=self._registry)
        for value in values:
            counter.labels(value)
        return counter

    def _gauge(self, name: str, help: str, *labels: str) -> Gauge:
        return Gauge(name, help, labels, registry=self._registry)


class ShardMetrics(ProcessMetrics):
    """Of `gpu_worker`."""

    def __init__(self, leases: Callable[[], int]) -> None:
        super().__init__()
        self._gauge(names.LEASES_HELD, "Shards leased: the running one and the next.").set_function(leases)
        self._shards = self._counter(names.SHARDS, "Shards whose work ended here.", "outcome", tuple(Outcome))
        self._tiles = self._counter(names.TILES, "Tiles that came to a result.", "result", ("inferred", "unreadable"))
        self._padded = self._counter(names.PADDED_TILES, "Rows of batches computed for nothing.")
        self._forward = self._counter(names.FORWARD_SECONDS, "Seconds in the model.")
        self._run = self._counter(names.RUN_SECONDS, "Seconds from the first wish for a batch to the last batch.")
        self._waits = self._counter(
            names.STAGE_WAIT_SECONDS, "Seconds waited for this stage by the one after it.", "stage", Run.STAGES
        )
        self.shard_seconds = self._counter(names.SHARD_SECONDS, "Seconds with a shard, from lease to end.")

    def ended(self, outcome: Outcome) -> None:
        """The work on a shard."""
        self._shards.labels(outcome.value).inc()

    def ran(self, run: Run) -> None:
        self._tiles.labels("inferred").inc(run.inferred)
        self._tiles.labels("unreadable").inc(run.unreadable)
        self._padded.inc(run.padded)
        self._forward.inc(run.forward_seconds)
        self._run.inc(run.seconds)
        for stage, seconds in run.waits.items():
            self._waits.labels(stage).inc(seconds)


class PlanMetrics(ProcessMetrics):
    """Of `gpu_worker.heavy`."""

    def __init__(self, outcomes: Sequence[str]) -> None:
        super().__init__()
        self._plans = self._counter(names.PLANS, "Plans that ended here.", "outcome", outcomes)
        self._seconds = self._counter(names.PLAN_SECONDS, "Seconds with a plan.")

    def ended(self, outcome: str, seconds: float) -> None:
        self._plans.labels(outcome).inc()
        self._seconds.inc(seconds)
