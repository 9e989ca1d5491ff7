"""The audit of slides and results: S3's data events on reads, writes and deletes, in a bucket that we never read; and
the invocations of the functions that IAM alone guards, by which the request in a line of the audit log is found."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from cdk.data.buckets import make_bucket_settings
from cdk.deployment import Deployment


class Audit(Construct):
    """A trail of the objects of `watched` and of the invocations of `functions`. Its files carry digests, so that one
    that was changed or removed is noticed (`aws cloudtrail validate-logs`).

    The CDK's own Trail lets any trail write to the bucket; here it is this one.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        key: kms.Key,
        access_logs: s3.IBucket,
        watched: Sequence[s3.IBucket],
        functions: Sequence[lambda_.Function],
    ) -> None:
        super().__init__(scope, id)
        kept = cdk.Duration.days(deployment.audit_days)
        bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,
            versioned=True,
            server_access_logs_bucket=access_logs,
            server_access_logs_prefix="audit/",
            lifecycle_rules=[s3.LifecycleRule(id="expire", expiration=kept, noncurrent_version_expiration=kept)],
            **make_bucket_settings(deployment),
        )
        name = f"{deployment.prefix}-audit"
        allowed = self._allow(bucket, key, name)
        trail = cloudtrail.CfnTrail(
            self,
            "Trail",
            trail_name=name,
            is_logging=True,
            s3_bucket_name=bucket.bucket_name,
            kms_key_id=key.key_arn,
            enable_log_file_validation=True,
            is_multi_region_trail=False,
            include_global_service_events=False,
            event_selectors=[
                cloudtrail.CfnTrail.EventSelectorProperty(
                    read_write_type="All",
                    include_management_events=False,  # the account's own trail has them
                    data_resources=[
                        cloudtrail.CfnTrail.DataResourceProperty(
                            type="AWS::S3::Object", values=[f"{one.bucket_arn}/" for one in watched]
                        ),
                        cloudtrail.CfnTrail.DataResourceProperty(
                            type="AWS::Lambda::Function", values=[one.function_arn for one in functions]
                        ),
                    ],
                )
            ],
        )
        trail.node.add_dependency(allowed)

    def _allow(self, bucket: s3.Bucket, key: kms.Key, name: str) -> IDependable:
        stack = cdk.Stack.of(self)
        cloudtrail_itself = iam.ServicePrincipal("cloudtrail.amazonaws.com")
        trail = stack.format_arn(service="cloudtrail", resource="trail", resource_name=name)
        this_trail = {"aws:SourceArn": trail}
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudtrail_itself],
                actions=["s3:GetBucketAcl"],
                resources=[bucket.bucket_arn],
                conditions={"StringEquals": this_trail},
            )
        )
        written = bucket.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudtrail_itself],
                actions=["s3:PutObject"],
                resources=[bucket.arn_for_objects(f"AWSLogs/{stack.account}/*")],
                conditions={"StringEquals": {**this_trail, "s3:x-amz-acl": "bucket-owner-full-control"}},
            )
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudtrail_itself],
                actions=["kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey"],
                resources=["*"],  # in a key's policy: this key
                conditions={"StringEquals": this_trail},
            )
        )
        assert written.policy_dependable is not None
        return written.policy_dependable
