"""A Lambda function in Python: one handler of `lambdas/`, with its settings, its log group and a network or none."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adapters.settings.environment import Environment
from adapters.settings.functions import TIMEOUTS
from cdk.bundling import ARCHITECTURE, ROOT, RUNTIME, AssetKind, bundle_code
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
        super().__init__(
            scope,
            id,
            runtime=RUNTIME,
            handler=f"lambdas.{name}.handler",
            code=bundle_code(scope, asset, deployment),
            **_process(
                scope,
                id,
                deployment=deployment,
                name=name,
                log_key=log_key,
                network=network,
                settings=settings,
                memory_mib=memory_mib,
                scratch_mib=scratch_mib,
                security_group=security_group,
            ),
        )


class ImageFunction(lambda_.DockerImageFunction):
    """A `PythonFunction` made from `lambdas/<name>.Dockerfile`; or from `image`, a URI in ECR with a tag or a
    digest."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        name: str,
        image: str | None,
        network: NetworkStack,
        settings: Environment,
        memory_mib: int,
        scratch_mib: int = 512,
    ) -> None:
        super().__init__(
            scope,
            id,
            code=make_image_code(scope, id, name, image),
            **_process(
                scope,
                id,
                deployment=deployment,
                name=name,
                log_key=network.log_key,
                network=network,
                settings=settings,
                memory_mib=memory_mib,
                scratch_mib=scratch_mib,
                security_group=None,
            ),
        )


def make_image_code(scope: Construct, id: str, name: str, image: str | None) -> lambda_.DockerImageCode:
    """Return the code of `image`, or of an image to build. Building needs docker at deploy, not at synth: the tag is a
    hash of the files that `.dockerignore` lets in."""
    if image is None:
        return lambda_.DockerImageCode.from_image_asset(
            str(ROOT),
            file=f"lambdas/{name}.Dockerfile",
            exclude=["gpu_worker", "inference"],  # used by the other image only
            platform=ecr_assets.Platform.LINUX_ARM64,
        )
    registry, _, rest = image.partition("/")
    named, _, tag = rest.partition("@") if "@" in rest else rest.partition(":")
    account, _, _, region, *_ = registry.split(".")
    repository = ecr.Repository.from_repository_attributes(
        scope,
        f"{id}Repository",
        repository_name=named,
        repository_arn=f"arn:{cdk.Stack.of(scope).partition}:ecr:{region}:{account}:repository/{named}",
    )
    return lambda_.DockerImageCode.from_ecr(repository, tag_or_digest=tag)


def _process(
    scope: Construct,
    id: str,
    *,
    deployment: Deployment,
    name: str,
    log_key: kms.IKey,
    network: NetworkStack | None,
    settings: Environment | None,
    memory_mib: int,
    scratch_mib: int,
    security_group: ec2.ISecurityGroup | None,
) -> dict[str, Any]:
    """Return the properties that functions share, wherever their code comes from."""
    log_group = LogGroup(scope, f"{id}Logs", deployment=deployment, key=log_key)
    role = iam.Role(scope, f"{id}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    # What the managed policies AWSLambdaBasicExecutionRole and AWSLambdaVPCAccessExecutionRole allow, for our log
    # group alone.
    role.add_to_policy(
        iam.PolicyStatement(actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn])
    )
    in_vpc: dict[str, Any] = {}
    if network:
        in_vpc = {
            "vpc": network.vpc,
            "vpc_subnets": network.private,
            "security_groups": [security_group or network.database_clients],
        }
        role.add_to_policy(iam.PolicyStatement(actions=list(_NETWORK_INTERFACES), resources=["*"]))
    return {
        "architecture": ARCHITECTURE,
        "timeout": cdk.Duration.seconds(TIMEOUTS[name]),
        "memory_size": memory_mib,
        "ephemeral_storage_size": cdk.Size.mebibytes(scratch_mib),
        "tracing": lambda_.Tracing.ACTIVE,
        "log_group": log_group,
        "logging_format": lambda_.LoggingFormat.JSON,
        "environment": settings.make_environ() if settings else {},
        "role": role,
        **in_vpc,
    }
