"""Who is calling: people in Cognito, keys in our table, one authorizer for the REST API and for AppSync."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from adapters.settings import processes
from cdk.bundling import AssetKind
from cdk.data.database import API_ROLE
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.python_function import PythonFunction


class AuthStack(cdk.Stack):
    """`pool` and `client` (of the page), `issuer`, `sign_in_url` (the hosted page), `authorizer`.

    Whoever uses the authorizer makes its `CfnPermission` in its own stack: here it would point back at that stack.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
        self.pool = cognito.UserPool(self, "Users", self_sign_up_enabled=False)
        self.client = self.pool.add_client("Page")
        self.issuer = f"https://cognito-idp.{self.region}.amazonaws.com/{self.pool.user_pool_id}"
        self.sign_in_url = ""
        self.authorizer = PythonFunction(
            self,
            "Authorizer",
            deployment=deployment,
            name="authorizer",
            asset=AssetKind.API,
            network=network,
            log_key_from=network,
            memory_mib=512,
            settings=processes.Authorizer(
                region=self.region,
                database_dsn=data.database.dsn(API_ROLE),
                database_iam=True,
                issuer=self.issuer,
                jwks_url=f"{self.issuer}/.well-known/jwks.json",
                client_id=self.client.user_pool_client_id,
            ),
        )
        data.database.grant_connect(self.authorizer, API_ROLE)
