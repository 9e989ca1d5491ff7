"""The number of Jobs that KEDA creates at a poll of a ScaledJob. Pure: numbers in, a number out.

The source is kedacore/keda: `pkg/scaling/scaledjob/metrics.go` at dbebad4 (several triggers to one number), and
`pkg/scaling/executor/scale_jobs.go` at 023bc3a (strategies), with later changes: strategy eager (issue 6416) and, since
2.19, pending Jobs in strategy accurate (pull request 7417). `pkg/scalers/aws_sqs_queue_scaler.go` counts visible
messages, and those in flight if configured to. Numbers are floats, as in Go, and are rounded up once, after the
triggers are combined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Strategy = Literal["default", "accurate", "eager", "custom"]
Calculation = Literal["sum", "max", "min", "avg"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaledJob:
    strategy: Strategy = "default"
    scale_on_in_flight: bool = True  #: KEDA's default
    queue_length: int = 5  #: messages a pod; KEDA's default
    calculation: Calculation = "max"  #: KEDA's default
    max_replicas: int = 100  #: KEDA's default
    activation_length: int = 0
    deduction: int = 0  #: of strategy custom
    running_share: float = 0.0  #: of strategy custom


@dataclass(frozen=True, slots=True)
class QueueCount:
    """The counts that GetQueueAttributes returns for a queue."""

    visible: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Wish:
    active: bool
    queue_length: int  #: messages, as the triggers are combined
    scale: int  #: pods for them, at most max_replicas


def combine_triggers(job: ScaledJob, counts: Sequence[QueueCount]) -> Wish:
    """Combine several triggers into one number, as `IsScaledJobActive` does."""
    lengths = [float(count.visible + (count.in_flight if job.scale_on_in_flight else 0)) for count in counts]
    active = [
        (length, min(length / job.queue_length, float(job.max_replicas)))
        for length in lengths
        if length > job.activation_length
    ]
    if not active:
        return Wish(False, 0, 0)
    match job.calculation:
        case "sum":
            length, scale = 0.0, 0.0
            for one_length, one_scale in active:  # not sum(): that adds floats more exactly than Go does
                length, scale = length + one_length, scale + one_scale
        case "avg":
            length, scale = (sum(column) / len(active) for column in zip(*active, strict=True))
        case "min":
            length, scale = min(active)
        case "max":
            length, scale = max(active)
    return Wish(True, math.ceil(length), math.ceil(min(scale, float(job.max_replicas))))


def compute_effective_max_scale(job: ScaledJob, scale: int, *, running: int, pending: int) -> int:
    """Compute `GetEffectiveMaxScale`. `running`: Jobs that have not ended, including those that are `pending`."""
    match job.strategy:
        case "default":
            return scale - running
        case "custom":
            return min(scale - job.deduction - int(running * job.running_share), job.max_replicas)
        case "accurate":
            if scale + running - pending > job.max_replicas:
                return job.max_replicas - running
            return scale - pending
        case "eager":
            return min(job.max_replicas - running - pending, scale)


def count_jobs_to_create(job: ScaledJob, counts: Sequence[QueueCount], *, running: int, pending: int) -> int:
    """Return the number of Jobs that `RequestJobScale` creates."""
    wished = combine_triggers(job, counts)
    if not wished.active:
        return 0
    most = max(0, compute_effective_max_scale(job, wished.scale, running=running, pending=pending))
    return min(job.max_replicas if job.strategy == "eager" else wished.queue_length, most)
