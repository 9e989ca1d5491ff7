"""All alarms on CloudWatch's metrics. Those on pods and GPUs are rules of Prometheus: rules/*.yaml."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from adapters.settings import metrics as names
from adapters.settings.queues import QUEUES, SHARD_QUEUES, get_priority
from cdk.capacity import CONNECTIONS_PER_PROCESSOR, get_instance_type
from cdk.deployment import Deployment
from cdk.observability.alarms import Alarm
from cdk.observability.metrics import FIVE_MINUTES, Metrics

GIB = 1024**3


def make_alarms(m: Metrics, deployment: Deployment) -> list[Alarm]:
    connections = CONNECTIONS_PER_PROCESSOR * get_instance_type(deployment.database_instance_type).processors
    return [
        *_queues(m),
        *_jobs(m),
        *_api(m),
        *_functions(m),
        *_database(m, connections),
        *_network(m),
        *_replication(m),
    ]


def _queues(m: Metrics) -> list[Alarm]:
    return (
        [
            Alarm(
                name=f"queue-age-{queue}",
                metric=m.measure_queue_age(queue),
                threshold=QUEUES[queue].oldest_seconds,
                periods=5,
                why=f"Work in queue {queue} waits longer than users were told to expect.",
                anchor="queue-age",
            )
            for queue in m.queues
        ]
        + [
            Alarm(
                name=f"line-age-{get_priority(queue)}",
                metric=m.measure_sweep(names.name_line_metric(get_priority(queue)), "Maximum"),
                threshold=QUEUES[queue].oldest_seconds,
                periods=5,
                why=f"Planned work of {get_priority(queue)} priority waits longer than users were told to expect.",
                anchor="queue-age",
            )
            for queue in SHARD_QUEUES
        ]
        + [
            Alarm(
                name=f"dead-letters-{queue}",
                metric=m.count_dead_letters(queue),
                threshold=1,
                periods=3,
                why=f"The sweep does not collect a dead letter of queue {queue}: its job or slide may stand still.",
                anchor="dead-letters",
            )
            for queue in m.queues
        ]
        + [
            Alarm(
                name="dead-letters",
                metric=m.measure_sweep(names.DEAD_LETTERS, "Maximum"),
                threshold=1,
                why="Work was given up after its messages died twice: jobs FAILED or slides were REJECTED.",
                anchor="dead-letters",
            )
        ]
    )


def _jobs(m: Metrics) -> list[Alarm]:
    return [
        Alarm(
            name="jobs-failing",
            # One bad slide is its owner's affair; many in an hour, and more than end well, are ours.
            metric=cloudwatch.MathExpression(
                expression="IF(failed >= 5 AND failed > good + flawed, failed, 0)",
                using_metrics={
                    "failed": m.measure_sweep(names.name_jobs_metric("FAILED"), "Sum", period=FIVE_MINUTES),
                    "good": m.measure_sweep(names.name_jobs_metric("COMPLETED"), "Sum", period=FIVE_MINUTES),
                    "flawed": m.measure_sweep(
                        names.name_jobs_metric("COMPLETED_WITH_UNREADABLE_TILES"), "Sum", period=FIVE_MINUTES
                    ),
                },
                period=cdk.Duration.hours(1),
                label="failed jobs in an hour",
            ),
            threshold=5,
            why="Most jobs of the last hour FAILED.",
            anchor="jobs-failing",
        ),
        Alarm(
            name="workers-silent",
            metric=m.measure_sweep(names.LEASES_EXPIRED, "Sum", period=cdk.Duration.minutes(15)),
            threshold=10,
            why="Workers die without giving back their shards, each of which then waits three minutes for the next.",
            anchor="workers-failing",
        ),
        Alarm(
            name="outbox-age",
            metric=m.measure_sweep(names.OUTBOX_AGE, "Maximum"),
            threshold=300,
            periods=3,
            why="Messages and updates do not leave the database: new jobs do not begin, and pages show old states.",
            anchor="outbox-age",
        ),
        Alarm(
            name="erasures-failed",
            metric=m.measure_sweep(names.ERASURES_FAILED, "Sum", period=cdk.Duration.minutes(15)),
            threshold=1,
            periods=2,
            why="S3 has kept objects of deleted slides or jobs for half an hour.",
            anchor="erasures-failed",
        ),
        Alarm(
            name="sweep-silent",
            metric=m.measure_sweep(names.OUTBOX_AGE, "SampleCount", period=FIVE_MINUTES),
            threshold=0,
            periods=2,
            below=True,
            missing_is_bad=True,
            why="The sweep has not run for ten minutes: nothing repairs what a death leaves, and no job is counted.",
            anchor="sweep-silent",
        ),
    ]


def _api(m: Metrics) -> list[Alarm]:
    return [
        Alarm(
            name="api-latency",
            metric=m.measure_latency("p99"),
            threshold=3_000,
            periods=3,
            why="One request of a hundred takes over three seconds.",
            anchor="api-latency",
        ),
        Alarm(
            name="api-errors",
            metric=cloudwatch.MathExpression(
                expression="IF(requests >= 20, 100 * failed / requests, 0)",
                using_metrics={"requests": m.count_requests(), "failed": m.count_failed()},
                period=FIVE_MINUTES,
                label="% of requests answered with 5xx",
            ),
            threshold=2,
            periods=3,
            why="Requests fail through no fault of who sent them.",
            anchor="api-errors",
        ),
        Alarm(
            name="authorizer-failures",
            metric=m.count_authorizer_failures(),
            threshold=3,
            periods=2,
            why="The authorizer fails for another reason than a wrong credential: some or all cannot sign in.",
            anchor="authorizer-failures",
        ),
        Alarm(
            name="push-errors",
            metric=m.count_push_failures(),
            threshold=5,
            periods=3,
            why="Live updates fail: pages show progress 30 seconds late.",
            anchor="push-errors",
        ),
    ]


def _functions(m: Metrics) -> list[Alarm]:
    return [
        Alarm(
            name=f"errors-{function}",
            metric=m.count_errors(function),
            threshold=3,
            periods=2,
            why=f"Function {function} crashes or runs into its timeout.",
            anchor="function-errors",
        )
        for function in m.functions
        if function != "authorizer"  # counts wrong credentials as errors
    ] + [
        Alarm(
            name=f"throttles-{function}",
            metric=m.count_throttles(function),
            threshold=5,
            periods=2,
            why=f"Function {function} is not started: the account's concurrency is used up.",
            anchor="function-throttles",
        )
        for function in m.functions
    ]


def _database(m: Metrics, connections: int) -> list[Alarm]:
    return [
        Alarm(
            name="database-cpu",
            metric=m.measure_instance("CPUUtilization", "Average"),
            threshold=80,
            periods=3,
            why="The database computes at its limit: everything becomes slow.",
            anchor="database-cpu",
        ),
        Alarm(
            name="database-memory",
            metric=m.measure_instance("FreeableMemory", "Minimum"),
            threshold=GIB // 4,
            periods=3,
            below=True,
            why="The database has almost no memory left: it reads from disk, and may restart.",
            anchor="database-memory",
        ),
        Alarm(
            name="database-storage",
            metric=m.measure_instance("FreeStorageSpace", "Minimum"),
            threshold=10 * GIB,
            below=True,
            why="The database's disk is almost full: without space it stops, and the service with it.",
            anchor="database-storage",
        ),
        Alarm(
            name="database-connections",
            metric=m.measure_instance("DatabaseConnections", "Maximum"),
            threshold=0.8 * connections,
            periods=3,
            why="The proxy has few connections left to give: the next requests wait, then fail.",
            anchor="database-connections",
        ),
        Alarm(
            name="database-pinned",
            metric=m.measure_proxy("DatabaseConnectionsCurrentlySessionPinned", "Sum"),
            threshold=5,
            periods=15,
            why="Sessions hold their connections for good: few clients use up what was meant for many.",
            anchor="database-pinned",
        ),
        Alarm(
            name="database-borrowing",
            metric=m.measure_proxy("DatabaseConnectionsBorrowLatency", "Average"),
            threshold=200_000,  # µs
            periods=5,
            why="Requests wait for a connection to the database.",
            anchor="database-borrowing",
        ),
    ]


def _network(m: Metrics) -> list[Alarm]:
    return [
        Alarm(
            name="nat-bytes",
            metric=m.count_nat_bytes(cdk.Duration.hours(1)),
            threshold=20 * GIB,
            why="Whole slides go through NAT, where each GB is paid: S3's endpoint is not used.",
            anchor="nat-bytes",
        )
    ]


def _replication(m: Metrics) -> list[Alarm]:
    return [
        Alarm(
            name=f"replication-failed-{bucket}",
            metric=m.count_failed_copies(bucket),
            threshold=1,
            why=f"An object of {bucket} was not copied into the second region, and S3 does not try it again.",
            anchor="replication",
        )
        for bucket in m.replicas
    ]
