"""Carries out what `settlement` decides about a lease and its message."""

from __future__ import annotations

import logging

from gpu_worker.drain import Drain
from gpu_worker.health.metrics import Model, ShardMetrics
from gpu_worker.leases.heartbeat import LeasedShard
from gpu_worker.leases.intake import Intake
from gpu_worker.leases.settlement import MessageAction, Settlement, decide_settlement
from gpu_worker.shard_spans import ShardSpans
from wsi.notices.outbox import wake
from wsi.ports.ledger import SystemLedger
from wsi.ports.queues import Queues
from wsi.spans import with_span

log = logging.getLogger(__name__)


class ShardSettler:
    """Ends leases, on any thread."""

    def __init__(
        self,
        *,
        ledger: SystemLedger,
        queues: Queues,
        intake: Intake,
        metrics: ShardMetrics,
        drain: Drain,
        retry_seconds: float,
        spans: ShardSpans,
    ) -> None:
        """Prepare the settler. `retry_seconds`: wait before work is given back when S3 does not answer."""
        self._ledger, self._queues, self._intake = ledger, queues, intake
        self._metrics, self._drain, self._retry_seconds = metrics, drain, retry_seconds
        self._spans = spans

    def settle(self, leased: LeasedShard, error: Exception | None) -> Settlement:
        """Settle a shard that `error` ended, or that was committed. If this fails, the lease expires and the sweep
        repairs the shard's state."""
        with with_span(self._spans.open_part(leased, "settle shard")) as span:
            decided = decide_settlement(error)
            span.describe(outcome=decided.outcome.value)
            span.error = decided.code or None
            self._settle(leased, error, decided)
            return decided

    def _settle(self, leased: LeasedShard, error: Exception | None, decided: Settlement) -> None:
        self._metrics.count_shard(decided.outcome, make_model_labels(leased), code=decided.code)
        fields = {**leased.log_fields, "reason": decided.reason}
        if error is None:
            log.info("shard committed", extra=leased.log_fields)
        elif decided.failed or decided.job_failure:
            log.error("shard failed", exc_info=error, extra=fields)
        else:
            log.warning("shard given up", extra=fields)
        if decided.refuse:
            self._intake.refuse(leased.lease.job)
        if decided.refuse_job:
            self._intake.refuse_job(leased.lease.job)
        if decided.later:
            self._drain.wait(self._retry_seconds)
        try:
            self._carry_out(leased, decided)
        except Exception:  # a process border
            log.exception("shard not settled", extra=leased.log_fields)

    def _carry_out(self, leased: LeasedShard, decided: Settlement) -> None:
        job = leased.lease.job
        self._intake.let_go(leased)
        if decided.job_failure is not None:
            self._ledger.fail_job(job.id, decided.job_failure.reason, decided.job_failure.sentence)
        if decided.release:
            self._ledger.release_shard(leased.lease, reason=decided.reason, failed=decided.failed)
        wake(self._queues, traceparent=job.traceparent)
        if decided.message is MessageAction.DELETE:
            self._intake.finish(leased)
        elif decided.message is MessageAction.RETURN:
            self._intake.give_back(leased)


def make_model_labels(leased: LeasedShard) -> Model:
    """Return the labels of the metrics of the shard's model."""
    return Model(leased.lease.job.model, leased.lease.job.model_version)
