"""Releases of functions: a new version answers a tenth of the calls first, and is taken back when an alarm tells that
it fails (docs/decisions/0107)."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.deployment import Deployment
from cdk.runbook import describe_alarm

ALIAS = "live"
#: Requests are many and take seconds, messages few and take minutes.
FOR_REQUESTS = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES
FOR_MESSAGES = codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_15_MINUTES
#: In a minute, of both versions together: a customer's server that is down fails one or two messages.
FAILURES = 5
_MINUTE = cdk.Duration.minutes(1)
_ANCHOR = "release-rolled-back"


class Releases(Construct):
    """The aliases of the functions. Callers invoke an alias, and CodeDeploy moves it to the new version."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment) -> None:
        super().__init__(scope, id)
        self._deployment = deployment
        self._application = codedeploy.LambdaApplication(self, "Application")
        self._role = iam.Role(
            self,
            "Role",
            description="CodeDeploy: moves aliases of functions and reads alarms",
            assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"),
        )

    def add_alias(
        self, function: lambda_.Function, name: str, how: codedeploy.ILambdaDeploymentConfig
    ) -> lambda_.Alias:
        """Return an alias that moves to each new version of the function, and back when that one fails."""
        version = function.current_version
        alias = lambda_.Alias(self, name, alias_name=ALIAS, version=version)
        codedeploy.LambdaDeploymentGroup(
            self,
            f"{name}-group",
            application=self._application,
            role=self._role,
            alias=alias,
            deployment_config=how,
            alarms=[self._watch_crashes(function, name, version), self._watch_failures(function, name)],
            auto_rollback=codedeploy.AutoRollbackConfig(
                deployment_in_alarm=True, failed_deployment=True, stopped_deployment=True
            ),
        )
        return alias

    def _watch_crashes(self, function: lambda_.Function, name: str, version: lambda_.Version) -> cloudwatch.Alarm:
        """Watch calls of the new version alone: the last one may crash for reasons of its own."""
        crashes = cloudwatch.Metric(
            namespace="AWS/Lambda",
            metric_name="Errors",
            dimensions_map={
                "FunctionName": function.function_name,
                "Resource": f"{function.function_name}:{ALIAS}",
                "ExecutedVersion": version.version,
            },
            statistic="Sum",
            period=_MINUTE,
        )
        why = f"The newest version of function {name} crashes or runs into its timeout."
        return self._alarm(f"{name}-crashes", crashes, threshold=1, why=why)

    def _watch_failures(self, function: lambda_.Function, name: str) -> cloudwatch.Alarm:
        """Watch the errors that the function logs: it answers requests and messages that failed without crashing."""
        failures = logs.MetricFilter(
            self,
            f"{name}-logged",
            log_group=function.log_group,
            filter_pattern=logs.FilterPattern.string_value("$.level", "=", "ERROR"),
            metric_namespace=f"{self._deployment.prefix}/releases",
            metric_name=name,
        ).metric(statistic="Sum", period=_MINUTE)
        why = f"Function {name} fails {FAILURES} times a minute."
        return self._alarm(f"{name}-failures", failures, threshold=FAILURES, why=why)

    def _alarm(self, name: str, metric: cloudwatch.IMetric, *, threshold: int, why: str) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            name,
            alarm_name=f"{self._deployment.prefix}-release-{name}",
            alarm_description=describe_alarm(f"{why} CodeDeploy takes a release that is under way back.", _ANCHOR),
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
