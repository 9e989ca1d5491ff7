"""The metrics, by the names that alarms and dashboards use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from adapters.settings import metrics as names
from cdk.api.stack import ApiStack
from cdk.auth.stack import AuthStack
from cdk.data.recovery import RecoveryStack
from cdk.data.replica import RULE
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.realtime.stack import RealtimeStack

MINUTE = cdk.Duration.minutes(1)
FIVE_MINUTES = cdk.Duration.minutes(5)
LIVE_STATES = ("QUEUED", "PLANNING", "RUNNING", "STITCHING")
FINAL_STATES = ("COMPLETED", "COMPLETED_WITH_UNREADABLE_TILES", "NO_TISSUE", "FAILED", "CANCELLED")
AUTHORIZER_FAILURES = "AuthorizerFailures"


class Metrics(Construct):
    """The metrics of one installation. `queues` and `functions` are in the order of a slide's path through the
    system."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        auth: AuthStack,
        realtime: RealtimeStack,
        api: ApiStack,
        recovery: RecoveryStack | None,
    ) -> None:
        super().__init__(scope, id)
        self._namespace = names.make_namespace(deployment.queue_prefix)
        self._queues = data.queues
        self._database = data.database
        self._realtime = realtime
        self._stage = api.api.deployment_stage
        self._buckets = {"slides": data.slides, "results": data.results, "models": data.models}
        #: The buckets that are replicated, with their replicas.
        self.replicas: Mapping[str, s3.IBucket] = {} if recovery is None else recovery.replicas
        self.queues: Sequence[str] = [*data.queues]
        self.functions: dict[str, lambda_.Function] = {"authorizer": auth.authorizer, **api.functions}
        self.nat_gateways = [c for c in network.vpc.node.find_all() if isinstance(c, ec2.CfnNatGateway)]
        self._filter_authorizer_failures(auth.authorizer)

    # --- jobs, as the sweep counts them

    def measure_sweep(
        self, name: str, statistic: str, *, period: cdk.Duration = MINUTE, label: str | None = None
    ) -> cloudwatch.Metric:
        """Return a metric that the sweep publishes, such as the jobs in a state."""
        return cloudwatch.Metric(
            namespace=self._namespace,
            metric_name=name,
            dimensions_map={"service": names.SERVICE},
            statistic=statistic,
            period=period,
            label=label or name,
        )

    # --- queues

    def measure_queue_age(self, queue: str) -> cloudwatch.Metric:
        return self._queues[queue].metric_approximate_age_of_oldest_message(
            statistic="Maximum", period=MINUTE, label=queue
        )

    def measure_queue_depth(self, queue: str) -> cloudwatch.Metric:
        return self._queues[queue].metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=MINUTE, label=queue
        )

    def count_in_flight(self, queue: str) -> cloudwatch.Metric:
        return self._queues[queue].metric_approximate_number_of_messages_not_visible(
            statistic="Maximum", period=MINUTE, label=queue
        )

    def count_dead_letters(self, queue: str) -> cloudwatch.Metric:
        return self._queues.dead_letters[queue].metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=FIVE_MINUTES, label=queue
        )

    # --- the API and its functions

    def count_requests(self) -> cloudwatch.Metric:
        return self._stage.metric_count(statistic="Sum", period=FIVE_MINUTES, label="requests")

    def count_refused(self) -> cloudwatch.Metric:
        return self._stage.metric_client_error(statistic="Sum", period=FIVE_MINUTES, label="4xx")

    def count_failed(self) -> cloudwatch.Metric:
        return self._stage.metric_server_error(statistic="Sum", period=FIVE_MINUTES, label="5xx")

    def measure_latency(self, statistic: str) -> cloudwatch.Metric:
        """Return a statistic of the API's latency, in ms."""
        return self._stage.metric_latency(statistic=statistic, period=FIVE_MINUTES, label=statistic)

    def count_errors(self, function: str) -> cloudwatch.Metric:
        return self.functions[function].metric_errors(period=FIVE_MINUTES, label=function)

    def count_throttles(self, function: str) -> cloudwatch.Metric:
        return self.functions[function].metric_throttles(period=FIVE_MINUTES, label=function)

    def count_authorizer_failures(self) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=self._namespace, metric_name=AUTHORIZER_FAILURES, statistic="Sum", period=FIVE_MINUTES
        )

    def count_push_failures(self) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/AppSync",
            metric_name="5XXError",
            dimensions_map={"GraphQLAPIId": self._realtime.api.api_id},
            statistic="Sum",
            period=FIVE_MINUTES,
            label="5xx",
        )

    # --- the database and its proxy

    def measure_instance(self, name: str, statistic: str) -> cloudwatch.Metric:
        return self._database.instance.metric(name, statistic=statistic, period=FIVE_MINUTES, label=name)

    def measure_proxy(self, name: str, statistic: str) -> cloudwatch.Metric:
        # Each node of the proxy reports its own number each minute: their sum is a count only over one minute.
        return cloudwatch.Metric(
            namespace="AWS/RDS",
            metric_name=name,
            dimensions_map={"ProxyName": self._database.proxy.db_proxy_name},
            statistic=statistic,
            period=MINUTE,
            label=name,
        )

    # --- what costs

    def count_nat_bytes(self, period: cdk.Duration = FIVE_MINUTES) -> cloudwatch.MathExpression:
        """Return the bytes of both directions through all gateways: each byte costs once."""
        using: dict[str, cloudwatch.IMetric] = {
            f"{way}{number}": cloudwatch.Metric(
                namespace="AWS/NATGateway",
                metric_name=metric,
                dimensions_map={"NatGatewayId": gateway.attr_nat_gateway_id},
                statistic="Sum",
            )
            for number, gateway in enumerate(self.nat_gateways)
            for way, metric in (("out", "BytesOutToDestination"), ("in", "BytesInFromDestination"))
        }
        return cloudwatch.MathExpression(
            expression=" + ".join(using), using_metrics=using, period=period, label="bytes through NAT"
        )

    def count_stored_bytes(self, bucket: str, storage_type: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/S3",
            metric_name="BucketSizeBytes",
            dimensions_map={"BucketName": self._buckets[bucket].bucket_name, "StorageType": storage_type},
            statistic="Average",
            period=cdk.Duration.days(1),
            label=f"{bucket}: {storage_type.removesuffix('Storage')}",
        )

    def count_failed_copies(self, bucket: str) -> cloudwatch.Metric:
        """Return the operations on a bucket's objects that S3 gave up to copy into the second region."""
        return cloudwatch.Metric(
            namespace="AWS/S3",
            metric_name="OperationsFailedReplication",
            dimensions_map={
                "SourceBucket": self._buckets[bucket].bucket_name,
                "DestinationBucket": self.replicas[bucket].bucket_name,
                "RuleId": RULE,
            },
            statistic="Sum",
            period=FIVE_MINUTES,
            label=bucket,
        )

    def _filter_authorizer_failures(self, authorizer: lambda_.Function) -> None:
        """Count the authorizer's unexpected failures in its log. Its Errors metric also counts every wrong credential,
        for which it raises an exception to make the gateway answer 401."""
        unexpected = '($.level = "ERROR") && (($.errorMessage NOT EXISTS) || ($.errorMessage != "Unauthorized"))'
        logs.MetricFilter(
            self,
            "AuthorizerFailures",
            log_group=authorizer.log_group,
            filter_pattern=logs.FilterPattern.literal(f'{{ ({unexpected}) || ($.record.status = "timeout") }}'),
            metric_namespace=self._namespace,
            metric_name=AUTHORIZER_FAILURES,
            default_value=0,
        )
