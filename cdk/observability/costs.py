"""The monthly budget of an installation, and unusual costs. Both filter by the tag `tessera`, which must first be made
a cost allocation tag of the account (docs/how-to/deploy.md): before that, no cost carries it."""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_ce as ce
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk.deployment import Deployment

TAG = "tessera"  #: of everything; its value is the installation's environment
#: CloudFormation of these regions does not know AWS::Budgets::Budget (cfn-lint 1.58.0, its list of each region).
WITHOUT_BUDGETS = frozenset(
    {
        *("af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-3", "ap-south-2", "ap-southeast-3", "ap-southeast-4"),
        *("ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "ca-west-1", "eu-central-2", "eu-north-1"),
        *("eu-south-1", "eu-south-2", "il-central-1", "me-central-1", "mx-central-1"),
    }
)


class Costs(Construct):
    def __init__(self, scope: Construct, id: str, *, deployment: Deployment, topic: sns.ITopic) -> None:
        super().__init__(scope, id)
        if deployment.region in WITHOUT_BUDGETS:
            cdk.Annotations.of(self).add_warning_v2(
                "tessera:noBudget",
                f"CloudFormation in {deployment.region} makes no budgets: make one by hand, filtered by tag {TAG}.",
            )
        else:
            self._budget(deployment, topic)
        if deployment.unusual_costs != "nobody":
            self._anomalies(deployment, topic)

    def _budget(self, deployment: Deployment, topic: sns.ITopic) -> None:
        told = [
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    notification_type=kind,
                    comparison_operator="GREATER_THAN",
                    threshold=percent,
                    threshold_type="PERCENTAGE",
                ),
                subscribers=[
                    budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic.topic_arn),
                ],
            )
            for kind, percent in (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))
        ]
        budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_name=deployment.prefix,
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=deployment.monthly_budget_dollars, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:{TAG}${deployment.environment}"]},
            ),
            notifications_with_subscribers=told,
        )

    def _anomalies(self, deployment: Deployment, topic: sns.ITopic) -> None:
        monitor = self._monitor(deployment) if deployment.unusual_costs == "tag" else deployment.unusual_costs
        # A tenth of the month's budget: a forgotten GPU node costs that much in some days.
        least = max(1, deployment.monthly_budget_dollars // 10)
        ce.CfnAnomalySubscription(
            self,
            "UnusualNotice",
            subscription_name=deployment.prefix,
            frequency="IMMEDIATE",
            monitor_arn_list=[monitor],
            subscribers=[ce.CfnAnomalySubscription.SubscriberProperty(type="SNS", address=topic.topic_arn)],
            threshold_expression=json.dumps(
                {
                    "Dimensions": {
                        "Key": "ANOMALY_TOTAL_IMPACT_ABSOLUTE",
                        "MatchOptions": ["GREATER_THAN_OR_EQUAL"],
                        "Values": [str(least)],
                    }
                }
            ),
        )

    def _monitor(self, deployment: Deployment) -> str:
        """Make the monitor of this installation's tag, and return its ARN."""
        return ce.CfnAnomalyMonitor(
            self,
            "Unusual",
            monitor_name=deployment.prefix,
            monitor_type="CUSTOM",
            monitor_specification=json.dumps({"Tags": {"Key": TAG, "Values": [deployment.environment]}}),
        ).attr_monitor_arn
