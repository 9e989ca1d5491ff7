"""Postgres, and the proxy in front of it that all processes but the migrations go through."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from constructs import Construct

from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack

NAME = "tessera"
OWNER = "tessera_owner"  #: the master user; runs migrations, and nothing else
API_ROLE = "tessera_api"
SYSTEM_ROLE = "tessera_system"


class Database(Construct):
    """`instance`, `proxy`, `proxy_security_group` (to let further clients in)."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, network: NetworkStack, key: kms.IKey
    ) -> None:
        super().__init__(scope, id)
        self.proxy_security_group = ec2.SecurityGroup(self, "ProxySecurityGroup", vpc=network.vpc)
        self.proxy_security_group.add_ingress_rule(network.database_clients, ec2.Port.tcp(5432))
        self.instance = rds.DatabaseInstance(
            self,
            "Instance",
            engine=rds.DatabaseInstanceEngine.postgres(version=rds.PostgresEngineVersion.VER_18_3),
            instance_type=ec2.InstanceType(deployment.database_instance_type),
            vpc=network.vpc,
            vpc_subnets=network.isolated,
            database_name=NAME,
            credentials=rds.Credentials.from_username(OWNER, encryption_key=key),
            manage_master_user_password=True,
            iam_authentication=True,
            storage_encrypted=True,
            storage_encryption_key=key,
            multi_az=deployment.database_multi_az,
            backup_retention=cdk.Duration.days(deployment.backup_days),
            deletion_protection=deployment.keeps_data,
        )
        role = iam.Role(self, "ProxyRole", assumed_by=iam.ServicePrincipal("rds.amazonaws.com"))
        for user in (API_ROLE, SYSTEM_ROLE):
            self.instance.grant_connect(role, user)
        self.proxy = rds.DatabaseProxy(
            self,
            "Proxy",
            proxy_target=rds.ProxyTarget.from_instance(self.instance),
            default_auth_scheme=rds.DefaultAuthScheme.IAM_AUTH,
            iam_auth=True,
            require_tls=True,
            role=role,
            vpc=network.vpc,
            vpc_subnets=network.private,
            security_groups=[self.proxy_security_group],
        )

    def dsn(self, role: str) -> str:
        """How a process in `role` (API_ROLE or SYSTEM_ROLE) reaches the proxy; its password is an IAM token."""
        return f"host={self.proxy.endpoint} port=5432 dbname={NAME} user={role}"

    def grant_connect(self, grantee: iam.IGrantable, role: str) -> None:
        self.proxy.grant_connect(grantee, role)
