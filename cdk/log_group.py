"""A log group of ours, made before its writer would make one, unencrypted and kept for ever."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.deployment import Deployment
from cdk.retention import log_retention


class LogGroup(logs.LogGroup):
    """A group with the key `log_key` of the network stack, and kept for `log_days`. `name` None: CloudFormation's."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, key: kms.IKey, name: str | None = None
    ) -> None:
        super().__init__(
            scope,
            id,
            log_group_name=name,
            retention=log_retention(deployment.log_days),
            encryption_key=key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
