"""The VPC: public subnets for NAT only, private ones for functions and pods, isolated ones for the database."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from cdk.deployment import Deployment


class NetworkStack(cdk.Stack):
    """`vpc`; `private` and `isolated`, its subnets; `database_clients`, the security group of what may reach the
    database; `log_key`, with which all log groups of all stacks are encrypted."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment, env: cdk.Environment) -> None:
        self._zones = list(deployment.zones)  # the getter below is called while the VPC is made
        super().__init__(scope, id, env=env)
        self.log_key = kms.Key(self, "LogKey", enable_key_rotation=True, removal_policy=cdk.RemovalPolicy.DESTROY)
        self.log_key.grant_encrypt_decrypt(iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com"))
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            nat_gateways=deployment.nat_gateways,
            availability_zones=self._zones,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=24),
                ec2.SubnetConfiguration(name="private", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=20),
                ec2.SubnetConfiguration(name="isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24),
            ],
        )
        self.private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
        self.isolated = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        self.database_clients = ec2.SecurityGroup(
            self, "DatabaseClients", vpc=self.vpc, description="May reach the database's proxy"
        )

    @property
    def availability_zones(self) -> list[str]:
        """Named by the deployment: a lookup would need an account and credentials at synth."""
        return self._zones
