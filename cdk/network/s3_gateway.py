"""The route to S3: a gateway endpoint, which costs nothing. A NAT gateway would cost money for each gigabyte."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam

#: Of any bucket: image layers lie in buckets of others. Amazon's own for ECR, and registry.k8s.io, which sends callers
#: in AWS to S3 of their region; a list of them would break pulls the day that one is added.
_READS = ("s3:GetObject", "s3:GetObjectVersion")
#: Of buckets of this account alone, so that nothing can be carried off to somebody else's bucket by this way.
_EVERYTHING_OURS_NEED = (
    *("s3:PutObject", "s3:PutObjectTagging", "s3:GetObjectTagging", "s3:RestoreObject"),
    *("s3:DeleteObject", "s3:DeleteObjectTagging", "s3:DeleteObjectVersion"),
    *("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"),
    *("s3:ListBucket", "s3:ListBucketVersions", "s3:GetBucketLocation"),
)
_LOCKS = ("s3:GetObjectRetention", "s3:GetObjectLegalHold", "s3:PutObjectLegalHold")


class S3Gateway(ec2.GatewayVpcEndpoint):
    """The S3 gateway endpoint of `subnets`. Its policy is the most that anybody may do through it (F-47)."""

    def __init__(
        self,
        scope: cdk.Stack,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnets: ec2.SubnetSelection,
        region: str,
        has_locks: bool,
    ) -> None:
        super().__init__(scope, id, vpc=vpc, subnets=[subnets], service=ec2.GatewayVpcEndpointAwsService.S3)
        answers = f"cloudformation-custom-resource-response-{region.replace('-', '')}"
        self._allow(_READS, "*")
        ours = (*_EVERYTHING_OURS_NEED, *(_LOCKS if has_locks else ()))
        self._allow(ours, "*", {"StringEquals": {"aws:ResourceAccount": scope.account}})
        # Custom resources that run in the VPC answer CloudFormation by a presigned put.
        self._allow(("s3:PutObject",), f"arn:{scope.partition}:s3:::{answers}/*")

    def _allow(
        self, actions: tuple[str, ...], resource: str, conditions: dict[str, dict[str, str]] | None = None
    ) -> None:
        self.add_to_policy(
            iam.PolicyStatement(
                principals=[iam.StarPrincipal()], actions=list(actions), resources=[resource], conditions=conditions
            )
        )
