"""Alarms on late replicas. S3 publishes how late they are in the region of the replicas, so the alarms and their topic
are there; how many copies failed, it publishes at home (cdk/observability/table.py)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.deployment import Deployment
from cdk.observability.alarms import Alarm, Alarms
from cdk.observability.notices import Notices

#: s by which a replica may be late: what S3 promises where that is paid for, and what originals mostly take.
LATE_SECONDS: Mapping[str, int] = MappingProxyType({"slides": 3_600, "results": 900, "models": 900})


class Lateness(Construct):
    """An alarm for each replica, by name."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, replicas: Mapping[str, s3.IBucket]
    ) -> None:
        super().__init__(scope, id)
        Alarms(
            self,
            "Alarms",
            deployment=deployment,
            topic=Notices(self, "Notices", email=deployment.alarm_email).topic,
            alarms=[
                Alarm(
                    name=f"replication-late-{name}",
                    metric=_measure(bucket),
                    threshold=LATE_SECONDS[name],
                    periods=3,
                    why=f"Copies of {name} in the second region are late: a region that is lost now loses more.",
                    anchor="replication",
                )
                for name, bucket in replicas.items()
            ],
        )


def _measure(replica: s3.IBucket) -> cloudwatch.MathExpression:
    """Return the seconds by which a replica is late. It is a query, since the bucket that it is a copy of is not known
    yet where replicas are made."""
    return cloudwatch.MathExpression(
        expression='SELECT MAX(ReplicationLatency) FROM SCHEMA("AWS/S3", DestinationBucket, RuleId, SourceBucket)'  # noqa: S608
        f" WHERE DestinationBucket = '{replica.bucket_name}'",
        using_metrics={},
        period=cdk.Duration.minutes(5),
        label="seconds",
    )
