"""Push: AppSync. Subscribers come through our authorizer, the relay publishes with IAM."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_appsync as appsync
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.auth.stack import AuthStack
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack

SOURCES = Path(__file__).resolve().parent.parent / "appsync"
PUBLISH, END = "publishJobUpdate", "endSubscriptions"
SUBSCRIBE = "onJobUpdate"


class RealtimeStack(cdk.Stack):
    """`api`; `graphql_url`, where the relay publishes; `realtime_url`, where clients subscribe (wss), and its origin
    alone, `realtime_origin`, which a page must be allowed to talk to."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        auth: AuthStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
        self.api = appsync.GraphqlApi(
            self,
            "Push",
            name=f"{deployment.prefix}-push",
            definition=appsync.Definition.from_file(str(SOURCES / "schema.graphql")),
            authorization_config=appsync.AuthorizationConfig(
                default_authorization=appsync.AuthorizationMode(
                    authorization_type=appsync.AuthorizationType.LAMBDA,
                    lambda_authorizer_config=appsync.LambdaAuthorizerConfig(
                        # By its ARN: the CDK would put the permission into the function's own stack otherwise.
                        handler=lambda_.Function.from_function_attributes(
                            self, "Authorizer", function_arn=auth.authorizer.function_arn, skip_permissions=True
                        ),
                        # A kept answer would admit somebody again whose subscription a revocation has just ended.
                        results_cache_ttl=cdk.Duration.seconds(0),
                    ),
                ),
                additional_authorization_modes=[
                    appsync.AuthorizationMode(authorization_type=appsync.AuthorizationType.IAM)
                ],
            ),
            introspection_config=appsync.IntrospectionConfig.DISABLED,
            query_depth_limit=3,
            resolver_count_limit=10,
            xray_enabled=True,
        )
        lambda_.CfnPermission(
            self,
            "AskAuthorizer",
            action="lambda:InvokeFunction",
            function_name=auth.authorizer.function_arn,
            principal="appsync.amazonaws.com",
            source_arn=self.api.arn,
        )
        self._log(deployment, network)
        nothing = self.api.add_none_data_source("Nothing", description="What is published is what subscribers get")
        for type_name, field in (("Mutation", PUBLISH), ("Mutation", END), ("Subscription", SUBSCRIBE)):
            nothing.create_resolver(
                field,
                type_name=type_name,
                field_name=field,
                runtime=appsync.FunctionRuntime.JS_1_0_0,
                code=appsync.Code.from_asset(str(SOURCES / f"{field}.js")),
            )
        self.graphql_url = self.api.graphql_url
        self.realtime_origin = f"wss://{self._resource.attr_realtime_dns}"
        self.realtime_url = f"{self.realtime_origin}/graphql"

    def grant_publish(self, grantee: iam.IGrantable) -> None:
        """Grant the calls of the two mutations."""
        fields = [f"{self.api.arn}/types/Mutation/fields/{field}" for field in (PUBLISH, END)]
        grantee.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["appsync:GraphQL"], resources=fields)
        )

    @property
    def _resource(self) -> appsync.CfnGraphQLApi:
        resource = self.api.node.find_child("Resource")
        assert isinstance(resource, appsync.CfnGraphQLApi)
        return resource

    def _log(self, deployment: Deployment, network: NetworkStack) -> None:
        """Log to a group of ours: AppSync would make one of the same name, unencrypted and kept for ever. It is set on
        the resource, since the CDK's own way adds a function that sets the retention."""
        group = LogGroup(
            self, "Logs", deployment=deployment, key=network.log_key, name=f"/aws/appsync/apis/{self.api.api_id}"
        )
        role = iam.Role(self, "LogsRole", assumed_by=iam.ServicePrincipal("appsync.amazonaws.com"))
        role.add_to_policy(
            iam.PolicyStatement(actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[group.log_group_arn])
        )
        self._resource.log_config = appsync.CfnGraphQLApi.LogConfigProperty(
            cloud_watch_logs_role_arn=role.role_arn,
            field_log_level="ERROR",
            exclude_verbose_content=True,  # headers hold credentials
        )
