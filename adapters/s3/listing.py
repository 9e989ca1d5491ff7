"""The objects below a prefix, for `tessera run s3://…`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import translate_refusals
from wsi.ports.objects import StoredObject


@dataclass(frozen=True, slots=True)
class ListedObject:
    uri: str
    stored: StoredObject  #: without a digest, which no listing holds


def list_objects(clients: AwsClients, prefix: str, *, below: bool = True) -> Sequence[ListedObject]:
    """Return all objects whose URL begins with `prefix`, in the order of their keys, 1,000 a request; without `below`
    only those without a further slash. It is S3's own meaning of a prefix, so that "s3://bucket/a" lists "a/x" and
    "ab/x" alike. Folder markers (keys ending in "/") are left out. Raises SourceMissing for a bucket that does not
    exist or may not be listed."""
    bucket, _, key = prefix.removeprefix("s3://").partition("/")
    only_here = {} if below else {"Delimiter": "/"}
    with translate_refusals():
        pages = clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key, **only_here)
        return [
            ListedObject(
                f"s3://{bucket}/{entry['Key']}", StoredObject(size=entry["Size"], etag=entry["ETag"].strip('"'))
            )
            for page in pages
            for entry in page.get("Contents", [])
            if not entry["Key"].endswith("/")
        ]
