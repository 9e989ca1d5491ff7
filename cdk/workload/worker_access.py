"""A worker's rights in AWS: the calls that its code makes, and no more."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from adapters.settings.database_roles import SYSTEM_ROLE
from adapters.settings.tracing import WRITING
from cdk.data.source_role import ASSUMING
from cdk.data.stack import DataStack
from cdk.deployment import Deployment

#: A message is received, extended by the heartbeat, and deleted.
CONSUMING = ("sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage")
SENDING = ("sqs:GetQueueUrl", "sqs:SendMessage")


def grant_work(
    role: iam.Role,
    *,
    deployment: Deployment,
    data: DataStack,
    takes_from: Iterable[str],
    reads: Iterable[s3.IBucket],
    writes: str,
    writing: Iterable[str] = ("s3:PutObject",),
) -> None:
    """Grant a worker's rights. `takes_from`: the queues of its work; `reads`: buckets besides results, slides and
    tenants' sources; `writes`: pattern of the keys that it writes in the results bucket, by the calls `writing`."""

    def may(actions: Iterable[str], *resources: str) -> None:
        role.add_to_principal_policy(iam.PolicyStatement(actions=[*actions], resources=[*resources]))

    may(CONSUMING, *(data.queues[name].queue_arn for name in takes_from))
    may(SENDING, data.queues["wake"].queue_arn)
    may(["s3:GetObject"], *(bucket.arn_for_objects("*") for bucket in (data.slides, data.results, *reads)))
    may(writing, data.results.arn_for_objects(writes))
    may(["kms:Decrypt", "kms:GenerateDataKey"], data.objects_key.key_arn)
    may(ASSUMING, data.source_role)
    if deployment.traced:
        may([WRITING], "*")  # X-Ray knows no resources
    data.database.grant_connect(role, SYSTEM_ROLE)
