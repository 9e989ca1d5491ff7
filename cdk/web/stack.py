"""The page and the API under one origin: CloudFront in front of a private bucket and of the gateway."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from cdk.api.stack import ApiStack
from cdk.auth.stack import AuthStack
from cdk.deployment import Deployment
from cdk.realtime.stack import RealtimeStack


class WebStack(cdk.Stack):
    """`distribution`; `url`, where people go."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        auth: AuthStack,
        realtime: RealtimeStack,
        api: ApiStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
