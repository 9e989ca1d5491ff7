"""The REST API, its firewall, and the functions behind it and behind the queues."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.api.firewall import Firewall
from cdk.api.functions import Functions
from cdk.api.gateway import Gateway
from cdk.auth.stack import AuthStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.realtime.stack import RealtimeStack


class ApiStack(cdk.Stack):
    """`api`, the gateway (`api.deployment_stage`); `functions` by the name of their handler (`functions["plan"]`);
    `url`, to which clients add BASE_PATH (also behind the page's own origin)."""

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
        functions = Functions(
            self, "Functions", deployment=deployment, network=network, data=data, auth=auth, realtime=realtime
        )
        self.functions: Mapping[str, lambda_.Function] = functions.by_name
        self.api = Gateway(
            self,
            "Gateway",
            deployment=deployment,
            network=network,
            authorizer=auth.authorizer,
            function=functions.called["api"],
            tiles=functions.called["tiles"],
            submit=functions.called["submit"],
        ).rest_api
        self.url = self.api.url
        Firewall(
            self,
            "Firewall",
            deployment=deployment,
            network=network,
            protects={"Gateway": self.api.deployment_stage.stage_arn, "Push": realtime.api.arn},
        )
        cdk.CfnOutput(self, "Url", value=self.url)
