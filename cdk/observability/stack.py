"""Observability: dashboard, alarms with runbook links, metrics and logs of pods and GPUs, the budget."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from cdk.api.stack import ApiStack
from cdk.auth.stack import AuthStack
from cdk.cluster.stack import ClusterStack
from cdk.data.recovery import RecoveryStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.observability.alarms import Alarms
from cdk.observability.costs import Costs
from cdk.observability.dashboard import Dashboard
from cdk.observability.metrics import Metrics
from cdk.observability.notices import Notices
from cdk.observability.objectives import BurnAlarms, make_objectives
from cdk.observability.pod_logs import PodLogs
from cdk.observability.prometheus import Prometheus
from cdk.observability.table import make_alarms
from cdk.realtime.stack import RealtimeStack


class ObservabilityStack(cdk.Stack):
    """`topic`, which all alarms notify."""

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
        cluster: ClusterStack,
        recovery: RecoveryStack | None,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env, cross_region_references=recovery is not None)
        self.topic = Notices(self, "Notices", email=deployment.alarm_email).topic
        metrics = Metrics(
            self,
            "Metrics",
            deployment=deployment,
            network=network,
            data=data,
            auth=auth,
            realtime=realtime,
            api=api,
            recovery=recovery,
        )
        promised = make_objectives(metrics)
        watched = Alarms(
            self, "Alarms", deployment=deployment, topic=self.topic, alarms=make_alarms(metrics, deployment)
        )
        burning = BurnAlarms(self, "Objectives", deployment=deployment, topic=self.topic, objectives=promised)
        Dashboard(
            self,
            "Dashboard",
            deployment=deployment,
            metrics=metrics,
            objectives=promised,
            alarms=[*burning.made, *watched.made.values()],
        )
        prometheus = Prometheus(
            self, "Prometheus", deployment=deployment, network=network, cluster=cluster.cluster, topic=self.topic
        )
        PodLogs(self, "PodLogs", deployment=deployment, network=network, cluster=cluster.cluster)
        Costs(self, "Costs", deployment=deployment, topic=self.topic)
        cdk.CfnOutput(self, "AlarmTopic", value=self.topic.topic_arn)
        cdk.CfnOutput(self, "PrometheusEndpoint", value=prometheus.workspace.attr_prometheus_endpoint)
