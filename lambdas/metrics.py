"""Metrics for operators in CloudWatch: a log line that CloudWatch reads (EMF). No call, no rights."""

from __future__ import annotations

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from adapters.settings import metrics as names
from adapters.settings.tracing import NAMESPACE, SPANS_LOST
from wsi.ports.ledger import Swept
from wsi.records.operations.vitals import Vitals


def publish(vitals: Vitals, swept: Swept, *, namespace: str) -> None:
    metrics = EphemeralMetrics(namespace=namespace, service=names.SERVICE)
    counts = {
        **{names.name_jobs_metric(state): count for state, count in [*vitals.live.items(), *vitals.finished.items()]},
        names.JOBS_WAITING: vitals.waiting,
        names.JOBS_STALLED: vitals.stalled,
        names.TILES: vitals.tiles,
        names.LEASES_EXPIRED: swept.leases_expired,
        names.MESSAGES_RESENT: swept.messages_resent,
        names.GIVEN_UP: swept.given_up,
        names.DEAD_LETTERS: vitals.dead_letters,
    }
    for name, count in counts.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=count)
    metrics.add_metric(name=names.OUTBOX_AGE, unit=MetricUnit.Seconds, value=vitals.outbox_seconds)
    for priority, seconds in vitals.line_seconds.items():
        metrics.add_metric(name=names.name_line_metric(priority), unit=MetricUnit.Seconds, value=seconds)
    for name, values in (
        (names.TIME_TO_FIRST_LEASE, vitals.first_lease_seconds),
        (names.TIME_TO_RESULT, vitals.result_seconds),
    ):
        for value in values:  # at a hundred values Powertools begins another line
            metrics.add_metric(name=name, unit=MetricUnit.Seconds, value=value)
    metrics.flush_metrics()


def publish_failed_erasures(count: int, *, namespace: str) -> None:
    """Count the slides and jobs that were deleted and whose objects S3 kept."""
    metrics = EphemeralMetrics(namespace=namespace, service=names.SERVICE)
    metrics.add_metric(name=names.ERASURES_FAILED, unit=MetricUnit.Count, value=count)
    metrics.flush_metrics()


def publish_lost_spans(count: int, service: str) -> None:
    """Count spans that a function could not send to X-Ray."""
    metrics = EphemeralMetrics(namespace=NAMESPACE, service=service)
    metrics.add_metric(name=SPANS_LOST, unit=MetricUnit.Count, value=count)
    metrics.flush_metrics()
