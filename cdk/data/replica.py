"""The copy of a bucket in a second region."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

RULE = "recovery"
#: S3 takes no other number; where nothing is timed, it only asks for the metrics.
_FIFTEEN_MINUTES = s3.ReplicationTimeValue.FIFTEEN_MINUTES


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """The copy of one bucket. `is_timed`: within 15 minutes, which S3 promises and charges for."""

    bucket: s3.IBucket
    key: kms.IKey
    role: iam.IRole
    is_timed: bool
    storage_class: s3.StorageClass | None

    def make_rule(self) -> s3.ReplicationRule:
        return s3.ReplicationRule(
            id=RULE,
            destination=self.bucket,
            kms_key=self.key,
            sse_kms_encrypted_objects=True,
            storage_class=self.storage_class,
            # So that what is erased here goes there too (docs/decisions/0115).
            delete_marker_replication=True,
            replication_time_control=_FIFTEEN_MINUTES if self.is_timed else None,
            metrics=_FIFTEEN_MINUTES,
        )
