"""The REST API, its firewall, and the functions behind it and behind the queues."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.auth.stack import AuthStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.realtime.stack import RealtimeStack


class ApiStack(cdk.Stack):
    """`api`, the gateway (`api.deployment_stage`); `functions` by the name of their handler (`functions["plan"]`);
    `url`, to which clients add `/api/v1/wsi` (also behind the page's own origin)."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        auth: AuthStack,
        realtime: RealtimeStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
        self.functions: dict[str, lambda_.Function] = {}
        self.api = apigateway.RestApi(self, "Api")
        self.api.root.add_method("ANY")
        self.url = self.api.url
