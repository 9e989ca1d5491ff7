"""The worker's side of the loop that drives the engine: shards come from leases that are taken ahead; outcomes are
committed and settled.

The worker holds at most two leases. It takes the second, and opens its slide and model, when half of the first shard is
done: earlier, it would withhold from idle workers a shard that it cannot begin soon. The second shard begins behind the
first, so that the device goes from one to the other without a gap.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gpu_worker.drain import Drain
from gpu_worker.health.metrics import ShardMetrics
from gpu_worker.health.pulse import Pulse
from gpu_worker.health.watchdog import EXIT_CODE
from gpu_worker.hidden_message import HiddenMessage
from gpu_worker.leases.heartbeat import LeasedShard
from gpu_worker.leases.intake import Intake
from gpu_worker.shard_preparer import PreparedShard, ShardPreparer
from gpu_worker.shard_settler import ShardSettler, make_model_labels
from gpu_worker.shard_spans import ShardSpans
from inference.engine import Engine
from inference.shard_loop import ShardLoop, ShardSink
from inference.shard_run import Drained, ShardRun
from inference.shard_stats import StageTimes
from wsi.errors import Stuck
from wsi.results.shard_result import AttemptMeasurements, ShardResult
from wsi.spans import with_span

log = logging.getLogger(__name__)


class _PreparationFailed(Exception):
    """A leased shard cannot be begun; the cause says why."""

    def __init__(self, leased: LeasedShard) -> None:
        super().__init__()
        self.leased = leased


class ShardPort(ShardSink):
    """The source and the sink of the loop in a worker. Its methods are for the worker's thread, except `drop_stuck`."""

    def __init__(
        self,
        *,
        intake: Intake,
        preparer: ShardPreparer,
        settler: ShardSettler,
        metrics: ShardMetrics,
        pulse: Pulse,
        drain: Drain,
        spans: ShardSpans,
    ) -> None:
        self._spans = spans
        self._intake, self._preparer, self._settler = intake, preparer, settler
        self._metrics, self._pulse, self._drain = metrics, pulse, drain
        #: A package to be tried once no shard is computed: its measurements need the whole device.
        self.trial: HiddenMessage | None = None
        self.exit_code: int | None = None  #: of the process, once only a new one helps
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="intake")
        self._ahead: Future[PreparedShard | HiddenMessage | None] | None = None
        self._ready: PreparedShard | None = None  #: prepared while none was computed, and not yet begun
        #: Shards in the engine until somebody claims them to settle them: the worker's thread, or the watchdog's.
        self._computing: dict[ShardRun, PreparedShard] = {}
        self._claiming = threading.Lock()
        self._stage_times: Callable[[], StageTimes] = StageTimes
        self._times_before = StageTimes()  #: when the shard before ended
        self._loop: ShardLoop | None = None

    @property
    def has_shards(self) -> bool:
        """Return whether a shard is in the engine, or about to be."""
        return bool(self._computing or self._ready)

    def attach(self, engine: Engine) -> None:
        """Compute with this engine from now on. To be called once, before `compute`."""
        self._stage_times = lambda: engine.stage_times
        self._times_before = engine.stage_times
        self._loop = ShardLoop(engine, self, self)

    def compute(self) -> None:
        """Run the loop until no shard is left. Raises what broke a stage."""
        if self._loop is None:
            raise AssertionError("attach an engine first")
        self._loop.run()

    def wait_for_shard(self) -> bool:
        """Ask the queues for work and prepare it. Return whether there was any: a shard to compute, one that cannot be
        begun, or a package to try. Raises what the queues and the ledger raise."""
        if self._collect(wait=True):  # requested while the last shard was computed
            return True
        self._take_ahead()
        return self._collect(wait=True)

    def take_next(self, *, wait: bool) -> ShardRun | None:
        """Return the shard that was taken ahead, if it is ready. Never blocks: the worker waits for work by itself."""
        if self._wants_next():
            self._take_ahead()
        try:
            self._collect(wait=False)
        except Exception:  # a process border: asked again when this shard is done
            log.warning("no answer to a poll", exc_info=True)
        shard, self._ready = self._ready, None
        if shard is None:
            return None
        self._computing[shard.run] = shard
        return shard.run

    def on_step(self, run: ShardRun) -> None:
        self._pulse.beat()

    def on_finished(self, run: ShardRun, result: ShardResult) -> None:
        shard = self._computing.get(run)
        if shard is None:  # the watchdog claimed it
            return
        began = time.monotonic()
        error: Exception | None = None
        measured: AttemptMeasurements | None = None
        try:
            with with_span(self._spans.open_part(shard.leased, "commit shard")):
                measured = shard.commit(result).measured
            if measured is not None:
                self._metrics.count_reads(measured.requests, measured.bytes)
        except Exception as caught:  # noqa: BLE001  # the border of a shard: `settlement` decides, the settler logs
            error = caught
        self._finish(run, error, committed=time.monotonic() - began, measured=measured)

    def on_stopped(self, run: ShardRun) -> None:
        self._finish(run, Drained())

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        self._finish(run, error)

    def drop_stuck(self, error: Stuck) -> None:
        """Settle all shards as stuck, on the watchdog's thread. The stages cannot be trusted any more, so the process
        must end."""
        with self._claiming:
            stuck, self._computing = list(self._computing.values()), {}
        self.exit_code = EXIT_CODE
        if self._loop is not None:
            self._loop.drop_all()
        for shard in stuck:
            shard.run.task.ended.set()
            self._settle(shard.leased, error)

    def close(self) -> None:
        """Give back leases and messages that were not begun, or not finished because the stages broke."""
        self._executor.shutdown(wait=True)  # a poll in flight ends within its wait
        ahead, self._ahead = self._ahead, None
        unfinished = [shard.leased for shard in self._computing.values()]
        if self._ready is not None:
            unfinished.append(self._ready.leased)
        if ahead is not None:
            error = ahead.exception()
            if isinstance(error, _PreparationFailed):
                self._settle_unprepared(error)
            elif error is None:
                match ahead.result():
                    case PreparedShard(leased=leased):
                        unfinished.append(leased)
                    case trial:
                        self.trial = trial
        self._computing.clear()
        self._ready = None
        for leased in unfinished:
            self._settle(leased, Drained())
        if self.trial is not None:
            self.trial.give_back()

    def _wants_next(self) -> bool:
        """Return whether half of the only shard that is computed is done."""
        if self._ahead or self._ready or self.trial or self._drain.requested or len(self._computing) != 1:
            return False
        (shard,) = self._computing.values()
        return shard.run.done * 2 >= shard.leased.lease.tiles

    def _take_ahead(self) -> None:
        if self._ahead is None:
            self._ahead = self._executor.submit(self._take)

    def _take(self) -> PreparedShard | HiddenMessage | None:
        """Poll the queues once, and prepare the shard that came, on the intake's thread. Raises _PreparationFailed with
        its cause, and what queues and ledger raise."""
        leased = self._intake.take()
        if leased is None or isinstance(leased, HiddenMessage):
            return leased
        try:
            return self._preparer.prepare(leased)
        except Exception as error:
            raise _PreparationFailed(leased) from error

    def _collect(self, *, wait: bool) -> bool:
        """Collect what was taken ahead: a shard that is ready, one to settle since it cannot be begun, or a package for
        later. Return False if nothing was taken, or is not there yet. Raises what queues and ledger raise."""
        if self._ready is not None:
            return True
        if self._ahead is None or not (wait or self._ahead.done()):
            return False
        ahead, self._ahead = self._ahead, None
        try:
            taken = ahead.result()
        except _PreparationFailed as error:
            self._settle_unprepared(error)
            return True
        if taken is None:
            return False
        if isinstance(taken, HiddenMessage):
            self.trial = taken
        elif self._drain.requested or self.exit_code:
            self._settle(taken.leased, Drained())
        else:
            self._pulse.beat()
            self._ready = taken
        return True

    def _finish(
        self,
        run: ShardRun,
        error: Exception | None,
        *,
        committed: float = 0.0,
        measured: AttemptMeasurements | None = None,
    ) -> None:
        """Count and settle a shard, unless the watchdog did."""
        with self._claiming:
            shard = self._computing.pop(run, None)
            if shard is None:
                return
        now = self._stage_times()
        times, self._times_before = now - self._times_before, now
        stats = run.summarise().with_stage_times(times, committed=committed)
        self._spans.record_computation(shard.leased, run, stats, measured, error, committed=committed)
        model = make_model_labels(shard.leased)
        self._metrics.record(stats, model)
        self._metrics.observe_shard(time.monotonic() - run.began, model)
        log.info(
            "shard computed" if error is None else "shard ended",
            extra={
                **shard.leased.log_fields,
                "tiles": stats.inferred + stats.unreadable,
                "seconds": round(stats.seconds, 3),
                "gpu_busy_ratio": round(stats.stage_seconds["forward"] / stats.seconds, 4) if stats.seconds else None,
                "padded": stats.padded,
            },
        )
        self._settle(shard.leased, error)

    def _settle_unprepared(self, error: _PreparationFailed) -> None:
        self._settle(error.leased, error.__cause__ if isinstance(error.__cause__, Exception) else error)

    def _settle(self, leased: LeasedShard, error: Exception | None) -> None:
        if self._settler.settle(leased, error).leave:
            self.exit_code = EXIT_CODE
