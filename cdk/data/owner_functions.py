"""The two functions that connect to the database as its owner: `migrate`, with each deployment that changes the schema,
and `administer`, for operators."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import triggers
from constructs import Construct

from adapters.settings.functions import TIMEOUTS
from adapters.settings.processes import OwnerSettings
from cdk.bundling import AssetKind
from cdk.data.database import Database
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.python_function import PythonFunction


class OwnerFunctions(Construct):
    """`migrations`, done once the schema is the newest. CloudFormation waits for it, and a failed migration fails the
    deployment before any function or pod has changed (F-52)."""

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, network: NetworkStack, database: Database
    ) -> None:
        super().__init__(scope, id)
        settings = OwnerSettings(
            region=deployment.region, database_dsn=database.owner_dsn, owner_secret=database.owner_secret
        )

        def make_function(construct: str, name: str, asset: AssetKind) -> PythonFunction:
            made = PythonFunction(
                self,
                construct,
                deployment=deployment,
                name=name,
                asset=asset,
                log_key=network.log_key,
                network=network,
                security_group=database.owner_clients,
                settings=settings,
                memory_mib=512,
            )
            database.grant_owner(made)
            return made

        migrate = make_function("Migrate", "migrate", AssetKind.MIGRATIONS)
        self.migrations = triggers.Trigger(
            self,
            "Migrations",
            handler=migrate,
            execute_after=[database],
            execute_on_handler_change=True,
            timeout=cdk.Duration.seconds(TIMEOUTS["migrate"] + 30),
        )
        administer = make_function("Administer", "administer", AssetKind.API)
        cdk.CfnOutput(self, "AdministerFunction", value=administer.function_name)
