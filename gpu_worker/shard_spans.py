"""The spans of shards: some ten for each attempt, from what intake and stages measure anyway; none for a tile.

The span of the lease is sent at once, and everything else of the attempt is below it. So an attempt whose worker was
killed shows its lease, and nothing that ends it.
"""

from __future__ import annotations

import time

from gpu_worker.leases.heartbeat import LeasedShard
from inference.shard_run import ShardRun
from inference.shard_stats import ShardStats
from wsi.ports.tracing import Tracer
from wsi.records.shards import Lease
from wsi.records.spans import Span, SpanAttributes, SpanKind
from wsi.results.shard_result import AttemptMeasurements
from wsi.spans import OpenSpan, get_error_code, record_wait
from wsi.tracing import continue_trace, read_span_id

SERVICE = "gpu_worker"
#: Stages of the engine that get a span. "batch" is the CPU of one thread, and small.
_STAGES = ("fetch", "decode", "forward", "write")


class ShardSpans:
    """Records the spans of a worker's shards, on any thread."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def record_lease(self, leased: LeasedShard, *, received: float) -> None:
        """Record how long the message waited, and the lease. `received`: seconds of the epoch."""
        job, message = leased.lease.job, leased.message
        attributes = describe_lease(leased.lease)
        attributes["job_id"], attributes["receives"] = str(job.id), message.receives
        record_wait(
            self._tracer,
            SERVICE,
            f"queue {leased.queue}",
            parent=job.traceparent,
            began=message.sent_at.timestamp() if message.sent_at is not None else None,
            ended=received,
            **attributes,
        )
        span = OpenSpan(
            self._tracer,
            SERVICE,
            "lease shard",
            parent=job.traceparent,
            traceparent=leased.traceparent,
            kind=SpanKind.CONSUMER,
            began=received,
        )
        span.describe(**attributes)
        span.end()

    def open_part(self, leased: LeasedShard, name: str) -> OpenSpan:
        """Return a part of the attempt, which the caller ends."""
        span = OpenSpan(self._tracer, SERVICE, name, parent=leased.traceparent)
        span.describe(**describe_lease(leased.lease))
        return span

    def record_computation(
        self,
        leased: LeasedShard,
        run: ShardRun,
        stats: ShardStats,
        measured: AttemptMeasurements | None,
        error: Exception | None,
        *,
        committed: float,
    ) -> None:
        """Record what the engine did, and a span for each stage: the sum of its work, at most as long as the whole.
        `committed`: seconds of the commit, which ended just now."""
        ended = time.time() - committed
        began = ended + committed - (time.monotonic() - run.began)
        attributes = describe_lease(leased.lease)
        attributes["model"], attributes["model_version"] = leased.lease.job.model, leased.lease.job.model_version
        attributes["tiles"] = stats.inferred + stats.unreadable
        attributes["unreadable"] = stats.unreadable
        if measured is not None:
            attributes["requests"], attributes["bytes"] = measured.requests, measured.bytes
        parent = continue_trace(leased.traceparent)
        self._record("compute shard", parent, leased.traceparent, began, ended, attributes, error)
        for stage in _STAGES:
            busy = stats.stage_seconds.get(stage, 0.0)
            if not busy:
                continue
            waited = sum(seconds for (name, _), seconds in stats.waits.items() if name == stage)
            start = began + (stats.first_batch_seconds or 0.0 if stage == "forward" else 0.0)
            summed: SpanAttributes = {
                "is_sum": True,
                "busy_seconds": round(busy, 6),
                "waited_seconds": round(waited, 6),
            }
            self._record(stage, continue_trace(parent), parent, start, min(ended, start + busy), summed, None)

    def _record(
        self,
        name: str,
        traceparent: str,
        parent: str,
        began: float,
        ended: float,
        attributes: SpanAttributes,
        error: Exception | None,
    ) -> None:
        span = Span(
            service=SERVICE,
            name=name,
            traceparent=traceparent,
            parent=read_span_id(parent),
            began=min(began, ended),
            ended=ended,
            error=None if error is None else get_error_code(error),
            attributes=dict(attributes),  # pyright: ignore[reportArgumentType]
        )
        self._tracer.record(span)


def describe_lease(lease: Lease) -> SpanAttributes:
    """Return the attributes of everything about a shard. A trace may hold a thousand such spans and 500 KB."""
    return {"shard": lease.index, "attempt": lease.attempt}
