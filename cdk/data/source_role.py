"""The role that reads customers' buckets: for one source of one tenant at a time (adapters/s3/source_sessions.py)."""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.deployment import Deployment

#: A pod's session has tags, which go over into the sessions that it begins.
ASSUMING = ("sts:AssumeRole", "sts:TagSession")


class SourceRole(Construct):
    """`arn`. The role reads the buckets that the deployment names, as the ceiling of what any session of it may read;
    without such buckets it reads nothing. It exists in any case: other stacks import its name, and could not be
    deployed with it or without it in turn."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment) -> None:
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        role = iam.Role(
            self,
            "Role",
            description="Reads sources of tenants, each session one of them",
            assumed_by=iam.SessionTagsPrincipal(
                iam.PrincipalWithConditions(
                    iam.AccountRootPrincipal(),
                    # Roles of this installation; which of them, their own policies say.
                    {
                        "ArnLike": {
                            "aws:PrincipalArn": f"arn:{stack.partition}:iam::{stack.account}:role/{deployment.prefix}-*"
                        }
                    },
                )
            ),
        )

        def may(actions: Iterable[str], resources: Iterable[str]) -> None:
            if named := list(resources):
                role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=named))

        # Without ListBucket: S3 then answers alike about a key that is missing and one that may not be read.
        may(["s3:GetObject"], (f"arn:{stack.partition}:s3:::{name}/*" for name in deployment.allowed_buckets))
        may(["kms:Decrypt"], deployment.allowed_bucket_keys)
        self.arn = role.role_arn
        # For the policies of buckets and keys of other accounts.
        cdk.CfnOutput(stack, "SourceRole", value=role.role_arn)
