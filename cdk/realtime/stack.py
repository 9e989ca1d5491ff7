"""Push: AppSync. Subscribers come through our authorizer, the relay publishes with IAM."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_appsync as appsync
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.auth.stack import AuthStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack

SOURCES = Path(__file__).resolve().parent.parent / "appsync"


class RealtimeStack(cdk.Stack):
    """`api`; `graphql_url`, where the relay publishes; `realtime_url`, where browsers subscribe."""

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
        )
        self.graphql_url = self.api.graphql_url
        self.realtime_url = self.api.graphql_url

    def grant_publish(self, grantee: iam.IGrantable) -> None:
        self.api.grant_mutation(grantee, "publishJobUpdate")
