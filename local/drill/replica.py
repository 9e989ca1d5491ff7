"""The other region: a MiniStack of its own, into whose buckets the objects of a stack are copied, as S3 replicates
them."""

from __future__ import annotations

from collections.abc import Callable

from adapters.aws_clients import AwsClients
from adapters.s3.listing import list_objects
from local.options import Buckets


def copy_objects(
    source: AwsClients, lost: Buckets, target: AwsClients, kept: Buckets, *, on_object: Callable[[int], None]
) -> int:
    """Copy all current objects into the buckets `kept`, and return their number; `on_object` hears of each one's bytes.

    Each is written whole, so that what was uploaded in parts gets another ETag and no digest of parts: more than S3's
    replication may change.
    """
    count = 0
    for name, other in zip(lost.names, kept.names, strict=True):
        for listed in list_objects(source, f"s3://{name}/"):
            key = listed.uri.removeprefix(f"s3://{name}/")
            answer = source.s3.get_object(Bucket=name, Key=key)
            data: bytes = answer["Body"].read()
            target.s3.put_object(Bucket=other, Key=key, Body=data, ContentType=answer["ContentType"])
            on_object(len(data))
            count += 1
    return count
