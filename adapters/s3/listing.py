"""Names of the objects below a prefix, for `tessera run s3://…`."""

from __future__ import annotations

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import typed_refusals


def list_uris(clients: AwsClients, prefix: str) -> tuple[str, ...]:
    """s3:// URLs of all objects whose URL begins with `prefix`, in the order of their keys; S3's own meaning of a
    prefix, so "s3://bucket/a" lists "a/x" and "ab/x" alike. Folder markers (keys ending in "/") are left out.
    Raises SourceMissing for a bucket that does not exist or may not be listed."""
    bucket, _, key = prefix.removeprefix("s3://").partition("/")
    with typed_refusals():
        pages = clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key)
        return tuple(
            f"s3://{bucket}/{entry['Key']}"
            for page in pages
            for entry in page.get("Contents", [])
            if not entry["Key"].endswith("/")
        )
