"""The functions that connect to the database as its owner: `migrate`, with each deployment that changes the schema, and
for operators `administer`, `operate` on their behalf for the API, and `recover` after the loss of a region."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk import triggers
from constructs import Construct

from adapters.settings.functions import TIMEOUTS
from adapters.settings.processes import AdministrationSettings, OwnerSettings, RecoverySettings
from cdk.bundling import AssetKind
from cdk.data.database import Database
from cdk.data.objects import ObjectBuckets
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.python_function import PythonFunction


class OwnerFunctions(Construct):
    """`migrations`, done once the schema is the newest; `operate`, which the API may invoke; `invoked_by_hand`, the
    functions of operators.

    CloudFormation waits for the migrations, and a failed one fails the deployment before any function or pod has
    changed (F-52)."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        database: Database,
        objects: ObjectBuckets,
        wake: sqs.IQueue,
    ) -> None:
        super().__init__(scope, id)
        settings = OwnerSettings(
            region=deployment.region, database_dsn=database.owner_dsn, owner_secret=database.owner_secret
        )
        with_buckets = RecoverySettings(
            **settings.model_dump(),
            slides_bucket=objects.slides.bucket_name,
            results_bucket=objects.results.bucket_name,
            models_bucket=objects.models.bucket_name,
        )

        def make_function(
            construct: str,
            name: str,
            asset: AssetKind,
            settings: OwnerSettings = settings,
        ) -> PythonFunction:
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
        waking = AdministrationSettings(**settings.model_dump(), queue_prefix=deployment.queue_prefix)
        administer = make_function("Administer", "administer", AssetKind.API, waking)
        administer.add_to_role_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage", "sqs:GetQueueUrl"], resources=[wake.queue_arn])
        )
        cdk.CfnOutput(self, "AdministerFunction", value=administer.function_name)
        self.operate = make_function("Operate", "operate", AssetKind.API)
        self.operate.node.add_dependency(self.migrations)
        recover = make_function("Recover", "recover", AssetKind.STITCH, with_buckets)
        recover.node.add_dependency(self.migrations)
        _allow_checking(recover, objects)
        cdk.CfnOutput(self, "RecoverFunction", value=recover.function_name)
        self.invoked_by_hand: tuple[lambda_.Function, ...] = (administer, recover)


def _allow_checking(recover: lambda_.Function, objects: ObjectBuckets) -> None:
    """Allow looking at all objects, and writing what inspection stored again under the slides' new ETags."""
    buckets = (objects.slides, objects.results, objects.models)
    for actions, resources in (
        (["s3:GetObject"], [bucket.arn_for_objects("*") for bucket in buckets]),
        # Without it S3 answers 403 for a missing key.
        (["s3:ListBucket"], [bucket.bucket_arn for bucket in buckets]),
        (["s3:PutObject"], [objects.results.arn_for_objects("*/slides/*")]),
        (["kms:Decrypt", "kms:GenerateDataKey"], [objects.key.key_arn]),
    ):
        recover.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=resources))
