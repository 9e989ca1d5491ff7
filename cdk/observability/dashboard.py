"""One page for all metrics in CloudWatch: objectives, jobs, queues, the API, the database, and costs. GPUs and pods
are in grafana/gpus.json, over Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from adapters.settings import metrics as names
from adapters.settings.queues import SHARD_QUEUES
from cdk.deployment import Deployment
from cdk.observability.costs import TAG
from cdk.observability.metrics import FINAL_STATES, FIVE_MINUTES, LIVE_STATES, Metrics
from cdk.observability.objectives import DAYS, OBJECTIVE, Objective

Row = Sequence[cloudwatch.IWidget]
_WIDTH = 24  #: of a page, in CloudWatch's units
_CENTILES = ("p50", "p90", "p99")


class Dashboard(cloudwatch.Dashboard):
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        metrics: Metrics,
        objectives: Sequence[Objective],
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        super().__init__(scope, id, dashboard_name=deployment.prefix, default_interval=cdk.Duration.hours(12))
        m = metrics
        for title, row in (
            ("Alarms", [cloudwatch.AlarmStatusWidget(alarms=[*alarms], width=_WIDTH, height=5)]),
            (f"Objectives: {OBJECTIVE:.1%} over {DAYS} days", _objectives(objectives)),
            ("Jobs, as the sweep counts them each minute", _jobs(m)),
            ("Queues", _queues(m)),
            ("API and functions", _api(m)),
            ("Database", _database(m)),
            (f"What costs. In dollars: Cost Explorer, by tag {TAG} = {deployment.environment}", _costs(m)),
        ):
            self.add_widgets(cloudwatch.TextWidget(markdown=f"## {title}", width=_WIDTH, height=1))
            self.add_widgets(*row)


def _objectives(objectives: Sequence[Objective]) -> Row:
    hour = cdk.Duration.hours(1)
    return [
        cloudwatch.SingleValueWidget(
            title="% of the error budget left",
            metrics=[one.measure_budget_left() for one in objectives],
            width=8,
            height=6,
        ),
        *(
            _graph(
                f"{one.name}: pace at which the budget burns (1 = all of it in {DAYS} days)",
                [one.measure_burn_rate(hour)],
            )
            for one in objectives
        ),
    ]


def _jobs(m: Metrics) -> Row:
    def measure_times(name: str) -> list[cloudwatch.IMetric]:
        return [m.measure_sweep(name, centile, period=FIVE_MINUTES, label=centile) for centile in _CENTILES]

    return [
        _graph(
            "Live", [m.measure_sweep(names.name_jobs_metric(state), "Maximum") for state in LIVE_STATES], stacked=True
        ),
        _graph(
            "Ended",
            [m.measure_sweep(names.name_jobs_metric(state), "Sum", period=FIVE_MINUTES) for state in FINAL_STATES],
            stacked=True,
        ),
        _graph("Stand still", [m.measure_sweep(name, "Maximum") for name in (names.JOBS_WAITING, names.JOBS_STALLED)]),
        _graph("Tiles with a result", [m.measure_sweep(names.TILES, "Sum", period=FIVE_MINUTES)]),
        _graph("Seconds from asking to the first shard", measure_times(names.TIME_TO_FIRST_LEASE)),
        _graph("Seconds from asking to the result", measure_times(names.TIME_TO_RESULT)),
        _graph(
            "Repaired",
            [
                m.measure_sweep(name, "Sum", period=FIVE_MINUTES)
                for name in (names.LEASES_EXPIRED, names.MESSAGES_RESENT, names.GIVEN_UP)
            ],
        ),
        _graph("Age of the outbox (s)", [m.measure_sweep(names.OUTBOX_AGE, "Maximum")]),
        _graph("Erasures that S3 refused", [m.measure_sweep(names.ERASURES_FAILED, "Sum", period=FIVE_MINUTES)]),
    ]


def _queues(m: Metrics) -> Row:
    return [
        _graph("Messages that wait", [m.measure_queue_depth(queue) for queue in m.queues]),
        _graph("Age of the oldest (s)", [m.measure_queue_age(queue) for queue in m.queues]),
        _graph("Shards that are computed", [m.count_in_flight(queue) for queue in SHARD_QUEUES], stacked=True),
        _graph(
            "Dead letters: open ones, and those that are not collected",
            [m.measure_sweep(names.DEAD_LETTERS, "Maximum"), *(m.count_dead_letters(queue) for queue in m.queues)],
        ),
    ]


def _api(m: Metrics) -> Row:
    return [
        _graph("Requests in 5 minutes", [m.count_requests(), m.count_refused(), m.count_failed()]),
        _graph("Latency (ms)", [m.measure_latency(p) for p in _CENTILES]),
        _graph("Errors of functions (authorizer: wrong credentials too)", [m.count_errors(f) for f in m.functions]),
        _graph("Throttled", [m.count_throttles(f) for f in m.functions]),
        _graph("Authorizer failures, push failures", [m.count_authorizer_failures(), m.count_push_failures()]),
    ]


def _database(m: Metrics) -> Row:
    return [
        _graph("Processor (%)", [m.measure_instance("CPUUtilization", "Average")]),
        _graph(
            "Memory and disk free (bytes)",
            [m.measure_instance(n, "Minimum") for n in ("FreeableMemory", "FreeStorageSpace")],
        ),
        _graph(
            "Connections",
            [m.measure_instance("DatabaseConnections", "Maximum"), m.measure_proxy("ClientConnections", "Sum")],
        ),
        _graph("Pinned sessions", [m.measure_proxy("DatabaseConnectionsCurrentlySessionPinned", "Sum")]),
        _graph("Wait for a connection (µs)", [m.measure_proxy("DatabaseConnectionsBorrowLatency", "Average")]),
    ]


def _costs(m: Metrics) -> Row:
    kinds = {
        "slides": ("StandardStorage", "GlacierInstantRetrievalStorage", "DeepArchiveStorage"),
        "results": ("StandardStorage",),
        "models": ("StandardStorage",),
    }
    stored = [m.count_stored_bytes(bucket, kind) for bucket, of in kinds.items() for kind in of]
    return [
        _graph("Bytes through NAT", [m.count_nat_bytes(cdk.Duration.hours(1))]),
        _graph("Bytes stored", stored, stacked=True),
    ]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric], *, stacked: bool = False) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=[*metrics],
        stacked=stacked,
        left_y_axis=cloudwatch.YAxisProps(min=0),
        width=8,
        height=6,
    )
