"""The VPC: public subnets for NAT only, private ones for functions and pods, isolated ones for the database."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.s3_gateway import S3Gateway


class NetworkStack(cdk.Stack):
    """`vpc`; `private` and `isolated`, its subnets; `database_clients`, the security group of clients of the
    database; `log_key`, with which all log groups of all stacks are encrypted.

    S3 has a gateway endpoint; all other traffic leaves by NAT, since at our traffic no interface endpoint costs less
    (docs/decisions/0017).
    """

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment, env: cdk.Environment) -> None:
        self._zones = list(deployment.zones)  # the getter below is called while the VPC is made
        super().__init__(scope, id, env=env)
        self.log_key = self._log_key()
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            nat_gateways=deployment.nat_gateway_count,
            availability_zones=self._zones,
            restrict_default_security_group=True,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=24, map_public_ip_on_launch=False
                ),
                # A pod has an address of its own. cdk/scale/addresses.py counts them.
                ec2.SubnetConfiguration(
                    name="private",
                    subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS,
                    cidr_mask=deployment.private_subnet_mask,
                ),
                ec2.SubnetConfiguration(name="isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24),
            ],
        )
        self.private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
        self.isolated = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        S3Gateway(
            self,
            "S3",
            vpc=self.vpc,
            subnets=self.private,
            region=deployment.region,
            has_locks=deployment.object_lock,
        )
        self._flow_logs(deployment)
        self.database_clients = ec2.SecurityGroup(
            self, "DatabaseClients", vpc=self.vpc, description="May reach the proxy of the database"
        )

    @property
    def availability_zones(self) -> list[str]:
        """The zones that the deployment names: a lookup would need an account and credentials at synth."""
        return self._zones

    def _log_key(self) -> kms.Key:
        log_groups = f"arn:{self.partition}:logs:{self.region}:{self.account}:log-group:*"
        key = kms.Key(
            self,
            "LogKey",
            description="Log groups of Tessera",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com")],
                actions=[
                    *("kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
                    *("kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey"),
                ],
                resources=["*"],  # in a key's policy: this key
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": log_groups}},
            )
        )
        return key

    def _flow_logs(self, deployment: Deployment) -> None:
        log_group = LogGroup(self, "FlowLogs", deployment=deployment, key=self.log_key)
        self.vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(log_group),
            traffic_type=ec2.FlowLogTrafficType.ALL,
            # A line for each connection every ten minutes, not every minute: a tenth of the price.
            max_aggregation_interval=ec2.FlowLogMaxAggregationInterval.TEN_MINUTES,
        )
