"""Postgres, and the proxy in front of it that all processes but the owner's go through."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from constructs import Construct

from adapters.settings.database_roles import API_ROLE, OWNER, SYSTEM_ROLE
from cdk.capacity import get_instance_type
from cdk.data.recovery import RecoveryStack
from cdk.data.restored import replicate_backups, restore_from
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack
from cdk.versions import POSTGRES

NAME = "tessera"
PORT = 5432

PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "rds.force_ssl": "1",
        "password_encryption": "scram-sha-256",
        "log_min_duration_statement": "1000",  # ms
        "log_lock_waits": "1",
        # Without DETAIL, which quotes the values of slow statements and of rows that break a constraint: names of files
        # among them, which hold patients' names.
        "log_error_verbosity": "terse",
    }
)
#: s. Above the ten minutes after which clients open a new connection of their own accord.
_IDLE_SECONDS = 900
#: s. Then a request that waits for one of the few connections fails, and its caller tries again (F-49).
_BORROW_SECONDS = 10
_PROXY_ID = "DatabaseProxyId"  #: an output of the database's stack


class Database(Construct):
    """`instance`, in isolated subnets; `proxy`; `proxy_security_group`, to let further clients in; `owner_clients`, the
    security group of what may reach the instance itself."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        key: kms.IKey,
        recovery: RecoveryStack | None,
    ) -> None:
        super().__init__(scope, id)
        self.owner_clients = ec2.SecurityGroup(
            self, "OwnerClients", vpc=network.vpc, description="May reach the database itself"
        )
        self.proxy_security_group = ec2.SecurityGroup(
            self,
            "ProxySecurityGroup",
            vpc=network.vpc,
            description="The proxy of the database",
            allow_all_outbound=False,
        )
        self.proxy_security_group.add_ingress_rule(network.database_clients, ec2.Port.tcp(PORT), "Functions")
        security_group = ec2.SecurityGroup(
            self, "SecurityGroup", vpc=network.vpc, description="The database", allow_all_outbound=False
        )
        security_group.add_ingress_rule(self.owner_clients, ec2.Port.tcp(PORT), "Migrations and administration")
        self.instance = self._instance(deployment, network, key, security_group)
        if recovery is not None:
            replicate_backups(self.instance, deployment, recovery.key)
        if deployment.restored_from is not None:
            restore_from(self.instance, deployment.restored_from)
        self.proxy = self._proxy(deployment, network)
        proxy_id = cdk.Fn.select(6, cdk.Fn.split(":", self.proxy.db_proxy_arn))
        cdk.CfnOutput(cdk.Stack.of(self), _PROXY_ID, value=proxy_id)

    def make_dsn(self, role: str) -> str:
        """Return the DSN by which a process in `role` (API_ROLE or SYSTEM_ROLE) reaches the proxy, by an IAM token."""
        return f"host={self.proxy.endpoint} port={PORT} dbname={NAME} user={role}"

    def grant_connect(self, grantee: iam.IGrantable, role: str) -> None:
        """Grant a sign-in at the proxy, to a grantee of another stack.

        The CDK's own grant splits the proxy's ARN in the grantee's stack, where it is an `Fn::GetStackOutput`. Which
        functions of CloudFormation take that one inside is documented nowhere; cfn-lint (E1022) refuses `Fn::Split`.
        """
        stack = cdk.Stack.of(self)
        proxy_id = cdk.Fn.get_stack_output(stack.stack_name, _PROXY_ID)
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["rds-db:connect"],
                resources=[
                    stack.format_arn(
                        service="rds-db",
                        resource="dbuser",
                        resource_name=f"{proxy_id}/{role}",
                        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                    )
                ],
            )
        )

    @property
    def owner_dsn(self) -> str:
        """Return the DSN of the instance itself, past the proxy; user and password are in `owner_secret`."""
        return f"host={self.instance.db_instance_endpoint_address} port={PORT} dbname={NAME}"

    @property
    def owner_secret(self) -> str:
        """The ARN of the secret that RDS stores and rotates: {"username", "password"}."""
        assert self.instance.secret is not None
        return self.instance.secret.secret_arn

    def grant_owner(self, grantee: iam.IGrantable) -> None:
        """Grant the owner's password, and its IAM token for servers that require one (adapters/postgres/owner)."""
        assert self.instance.secret is not None
        key = self.instance.secret.encryption_key
        assert key is not None
        region = cdk.Stack.of(self).region
        allowed = iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue"], resources=[self.instance.secret.secret_arn]
        )
        decrypted = iam.PolicyStatement(
            actions=["kms:Decrypt"],
            resources=[key.key_arn],
            conditions={"StringEquals": {"kms:ViaService": f"secretsmanager.{region}.amazonaws.com"}},
        )
        for statement in (allowed, decrypted):
            grantee.grant_principal.add_to_principal_policy(statement)
        self.instance.grant_connect(grantee, OWNER)

    def _instance(
        self, deployment: Deployment, network: NetworkStack, key: kms.IKey, security_group: ec2.ISecurityGroup
    ) -> rds.DatabaseInstance:
        # By its major version: RDS upgrades minor ones by itself and refuses to go back (docs/decisions/0105).
        engine = rds.DatabaseInstanceEngine.postgres(
            version=rds.PostgresEngineVersion.of(POSTGRES.version, POSTGRES.version)
        )
        # Named, so that its log groups can be made before it: RDS would make them without key and end.
        name = f"{deployment.prefix}-database"
        removal = cdk.RemovalPolicy.SNAPSHOT if deployment.keeps_data else cdk.RemovalPolicy.DESTROY
        exports = ("postgresql", "upgrade")
        groups = [
            LogGroup(self, e, deployment=deployment, key=network.log_key, name=f"/aws/rds/instance/{name}/{e}")
            for e in exports
        ]
        instance = rds.DatabaseInstance(
            self,
            "Instance",
            instance_identifier=name,
            engine=engine,
            instance_type=ec2.InstanceType(deployment.database_instance_type),
            multi_az=deployment.database_multi_az,
            vpc=network.vpc,
            vpc_subnets=network.isolated,
            publicly_accessible=False,
            security_groups=[security_group],
            database_name=NAME,
            credentials=rds.Credentials.from_username(OWNER, encryption_key=key),
            manage_master_user_password=True,
            iam_authentication=True,
            storage_encrypted=True,
            storage_encryption_key=key,
            storage_type=rds.StorageType.GP3,
            allocated_storage=20,  # GB; it grows by itself
            max_allocated_storage=1_000,
            backup_retention=cdk.Duration.days(deployment.backup_days),
            delete_automated_backups=not deployment.keeps_data,
            deletion_protection=deployment.keeps_data,
            removal_policy=removal,
            auto_minor_version_upgrade=True,
            parameter_group=rds.ParameterGroup(self, "Parameters", engine=engine, parameters=dict(PARAMETERS)),
            cloudwatch_logs_exports=list(exports),
            database_insights_mode=rds.DatabaseInsightsMode.STANDARD,
            enable_performance_insights=True,
            performance_insight_encryption_key=key,
            monitoring_interval=cdk.Duration.seconds(60),
            monitoring_role=self._monitoring_role(),
        )
        instance.node.add_dependency(*groups)
        return instance

    def _monitoring_role(self) -> iam.Role:
        """Return a role with the managed policy AmazonRDSEnhancedMonitoringRole's rights on the one log group it writes
        to."""
        group = f"{_arn(self, 'logs', 'log-group')}:RDSOSMetrics"
        role = iam.Role(self, "MonitoringRole", assumed_by=iam.ServicePrincipal("monitoring.rds.amazonaws.com"))
        role.add_to_policy(
            iam.PolicyStatement(actions=["logs:CreateLogGroup", "logs:PutRetentionPolicy"], resources=[group])
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams", "logs:GetLogEvents"],
                resources=[f"{group}:log-stream:*"],
            )
        )
        return role

    def _proxy(self, deployment: Deployment, network: NetworkStack) -> rds.DatabaseProxy:
        name = f"{deployment.prefix}-proxy"
        role = iam.Role(self, "ProxyRole", assumed_by=iam.ServicePrincipal("rds.amazonaws.com"))
        grants = [self.instance.grant_connect(role, user) for user in (API_ROLE, SYSTEM_ROLE)]  # the CDK makes none
        proxy = rds.DatabaseProxy(
            self,
            "Proxy",
            db_proxy_name=name,
            proxy_target=rds.ProxyTarget.from_instance(self.instance),
            default_auth_scheme=rds.DefaultAuthScheme.IAM_AUTH,
            iam_auth=True,
            require_tls=True,
            role=role,
            vpc=network.vpc,
            vpc_subnets=network.isolated,
            security_groups=[self.proxy_security_group],
            max_connections_percent=get_instance_type(deployment.database_instance_type).proxy_percent,
            borrow_timeout=cdk.Duration.seconds(_BORROW_SECONDS),
            idle_client_timeout=cdk.Duration.seconds(_IDLE_SECONDS),
        )
        log_group = LogGroup(
            self, "ProxyLogs", deployment=deployment, key=network.log_key, name=f"/aws/rds/proxy/{name}"
        )
        proxy.node.add_dependency(log_group)
        for grant in grants:
            grant.apply_before(proxy)
        return proxy


def _arn(scope: Construct, service: str, resource: str) -> str:
    return cdk.Stack.of(scope).format_arn(service=service, resource=resource)
