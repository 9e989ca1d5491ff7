"""The receivers of alarms: one topic, encrypted, to which only this account's own services may publish."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

#: Alarms of CloudWatch, rules of Prometheus, the budget, and unusual costs.
SPEAKERS = ("cloudwatch", "aps", "budgets", "costalerts")
PROMETHEUS = "aps"  #: looks at the topic before it speaks, says its documentation


class Notices(Construct):
    """`topic`. More subscribers (a pager, a chat) subscribe to it by hand."""

    def __init__(self, scope: Construct, id: str, *, email: str | None) -> None:
        super().__init__(scope, id)
        speakers = [iam.ServicePrincipal(f"{name}.amazonaws.com") for name in SPEAKERS]
        key = kms.Key(
            self,
            "Key",
            description="Alarms of Tessera",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=speakers,
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                # In a key's policy: this key. Who may speak for which account is the topic's to say: not all of these
                # services tell KMS for whom they ask, and an alarm that cannot be encrypted is lost without a word.
                resources=["*"],
            )
        )
        self.topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=True)
        ours = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=speakers,
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions=ours,
            )
        )
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(f"{PROMETHEUS}.amazonaws.com")],
                actions=["sns:GetTopicAttributes"],
                resources=[self.topic.topic_arn],
                conditions=ours,
            )
        )
        if email:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))
