"""A Lambda function in Python: one handler of `lambdas/`, with its settings, its log group and a network or none."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adapters.settings.environment import Environment
from adapters.settings.functions import TIMEOUTS
from cdk.bundling import ARCHITECTURE, RUNTIME, AssetKind, bundle_code
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack

#: Lambda calls these in the function's role. EC2 knows no resource for describing, and none yet when one is created.
_NETWORK_INTERFACES = (
    *("ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces"),
    *("ec2:DescribeSubnets", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"),
)


class PythonFunction(lambda_.Function):
    """A function from `lambdas/<name>.py`, under the timeout that `adapters.settings.functions` gives that name.

    With `network` it runs in the private subnets and may reach the database's proxy, or whatever `security_group` may;
    without, it reaches the internet and nothing of ours.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        name: str,
        asset: AssetKind,
        log_key: kms.IKey,
        network: NetworkStack | None,
        settings: Environment | None,
        memory_mib: int,
        scratch_mib: int = 512,
        security_group: ec2.ISecurityGroup | None = None,
    ) -> None:
        log_group = LogGroup(scope, f"{id}Logs", deployment=deployment, key=log_key)
        role = iam.Role(scope, f"{id}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        # What the managed policies AWSLambdaBasicExecutionRole and AWSLambdaVPCAccessExecutionRole allow, for our log
        # group alone.
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn]
            )
        )
        in_vpc: dict[str, Any] = {}
        if network:
            in_vpc = {
                "vpc": network.vpc,
                "vpc_subnets": network.private,
                "security_groups": [security_group or network.database_clients],
            }
            role.add_to_policy(iam.PolicyStatement(actions=list(_NETWORK_INTERFACES), resources=["*"]))
        super().__init__(
            scope,
            id,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler=f"lambdas.{name}.handler",
            code=bundle_code(scope, asset, deployment),
            timeout=cdk.Duration.seconds(TIMEOUTS[name]),
            memory_size=memory_mib,
            ephemeral_storage_size=cdk.Size.mebibytes(scratch_mib),
            tracing=lambda_.Tracing.ACTIVE,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            environment=settings.make_environ() if settings else {},
            role=role,
            **in_vpc,
        )
