"""The trace of a small job: an upload, a queue, one shard that a lost worker began and another finished."""

from __future__ import annotations

from typing import Any

from wsi.records.spans import Span

TRACE = "6b0dbe1d9e2ad39f15126073970f72b4"
JOB = "job-1"  #: that of `tests.tessera.server`


def span(id: int, service: str, name: str, began: float, ended: float, parent: int | None = None, **more: Any) -> Span:
    error, link = more.pop("error", None), more.pop("link", None)
    return Span(
        service=service,
        name=name,
        traceparent=f"00-{TRACE}-{id:016x}-01",
        parent=None if parent is None else f"{parent:016x}",
        began=1000.0 + began,
        ended=1000.0 + ended,
        error=error,
        link=link,
        attributes=more,
    )


def make_trace() -> list[Span]:
    return [
        span(1, "api", "begin upload", 0.0, 1.0, slide_id="s"),
        span(2, "api", "complete upload", 3.0, 4.0, 1, slide_id="s"),
        span(3, "api", "start job", 4.0, 4.5, 1, job_id=JOB),
        span(4, "relay", "outbox shards-normal", 4.5, 5.0, 3, job_id=JOB),
        span(5, "gpu_worker", "queue shards-normal", 5.0, 7.0, 3, job_id=JOB, shard=0, receives=1),
        span(6, "gpu_worker", "lease shard", 7.0, 7.1, 3, job_id=JOB, shard=0, attempt=1),
        span(7, "gpu_worker", "queue shards-normal", 5.0, 9.0, 3, job_id=JOB, shard=0, receives=2),
        span(8, "gpu_worker", "lease shard", 9.0, 9.1, 3, job_id=JOB, shard=0, attempt=2),
        span(9, "gpu_worker", "compute shard", 9.1, 10.0, 8, shard=0, attempt=2),
        span(10, "gpu_worker", "forward", 9.2, 9.9, 9, is_sum=True),
        span(11, "gpu_worker", "settle shard", 10.0, 10.0, 8, shard=0, attempt=2),
    ]
