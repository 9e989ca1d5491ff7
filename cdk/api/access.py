"""Rights of functions in S3 and SQS: the calls that their code makes, on the keys that it builds (`wsi/keys.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3

from cdk.data.stack import DataStack

#: Of presigned parts: S3 checks the signer's rights when a browser uses the URL.
UPLOADING = ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
ARCHIVING = ("s3:GetObject", "s3:PutObjectTagging", "s3:DeleteObjectTagging", "s3:RestoreObject")
#: For good: our buckets are versioned.
DELETING = ("s3:DeleteObject", "s3:DeleteObjectVersion")
#: Of every version. S3 leaves a lock that the caller may not see out of an object's head, and says nothing of it.
SEEING_LOCKS = ("s3:GetObjectVersion", "s3:GetObjectRetention", "s3:GetObjectLegalHold")


class FunctionRights:
    """The rights of one function. Each method adds what it names."""

    def __init__(self, function: lambda_.Function, *, data: DataStack) -> None:
        self._function = function
        self._data = data

    def may(self, actions: Sequence[str], *resources: str) -> None:
        self._function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))

    def connect(self, role: str) -> None:
        self._data.database.grant_connect(self._function, role)
        self._function.node.add_dependency(self._data.migrations)

    def send(self, *queues: str) -> None:
        arns = [self._data.queues[name].queue_arn for name in queues]
        self.may(["sqs:GetQueueUrl", "sqs:SendMessage"], *arns)

    def collect_dead_letters(self) -> None:
        """Allow receiving and deleting the dead letters of all queues."""
        arns = [queue.queue_arn for queue in self._data.queues.dead_letters.values()]
        self.may(["sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"], *arns)

    def read(self, *buckets: s3.IBucket) -> None:
        self.may(["s3:GetObject"], *(bucket.arn_for_objects("*") for bucket in buckets))
        # Without it S3 answers 403 for a missing key, and we could not tell a user that it is missing.
        self.may(["s3:ListBucket"], *(bucket.bucket_arn for bucket in buckets))
        self.may(["kms:Decrypt"], self._data.objects_key.key_arn)

    def read_below(self, bucket: s3.IBucket, *keys: str) -> None:
        """Allow reading objects whose keys match. Without ListBucket, a missing object looks like a refused one."""
        self.may(["s3:GetObject"], *(bucket.arn_for_objects(key) for key in keys))
        self.may(["kms:Decrypt"], self._data.objects_key.key_arn)

    def read_sources(self) -> None:
        """Allow beginning sessions that read a tenant's source."""
        self.may(["sts:AssumeRole"], self._data.source_role)

    def write(self, bucket: s3.IBucket, *keys: str, actions: Sequence[str] = ("s3:PutObject",)) -> None:
        """Allow writing objects whose keys match. A multipart upload decrypts what it encrypted, to assemble its parts
        (F-41)."""
        self.may(actions, *(bucket.arn_for_objects(key) for key in keys))
        self.may(["kms:GenerateDataKey", "kms:Decrypt"], self._data.objects_key.key_arn)

    def archive(self, bucket: s3.IBucket) -> None:
        """Allow archiving objects, by their tag, and restoring them. Reading an object's head takes the right to read
        it, and none on the key."""
        self.may(ARCHIVING, bucket.arn_for_objects("*"))

    def delete(self, bucket: s3.IBucket, keys: str = "*") -> None:
        self.may(DELETING, bucket.arn_for_objects(keys))
        self.may(["s3:ListBucketVersions"], bucket.bucket_arn)

    def see_locks(self, *buckets: s3.IBucket) -> None:
        """Allow reading the heads of all versions, with their locks. Their bytes take a right on the key too."""
        self.may(SEEING_LOCKS, *(bucket.arn_for_objects("*") for bucket in buckets))

    def hold(self, bucket: s3.IBucket, keys: str) -> None:
        """Allow placing and clearing legal holds."""
        self.may(["s3:PutObjectLegalHold"], bucket.arn_for_objects(keys))

    def erase(self, slides: s3.IBucket, results: s3.IBucket) -> None:
        """Allow deleting for good all that is stored of a slide or a job, and aborting its uploads."""
        self.may(["s3:AbortMultipartUpload"], slides.arn_for_objects("*"))
        self.delete(slides)
        self.delete(results)
