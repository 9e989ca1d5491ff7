"""Permanent deletion: our buckets are versioned, so a plain delete only hides an object."""

from __future__ import annotations

from collections.abc import Callable

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import translate_refusals
from wsi.errors import SourceUnavailable


def delete_versions(clients: AwsClients, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> int:
    """Delete every version and delete marker of the objects below `prefix` whose key is `wanted`; return the number of
    objects. Idempotent. Raises SourceUnavailable when S3 keeps some."""
    keys: set[str] = set()
    with translate_refusals():
        # A page holds 1,000 versions, which is what one call deletes.
        for page in clients.s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            versions = [
                {"Key": entry["Key"], "VersionId": entry["VersionId"]}
                for entry in (*page.get("Versions", []), *page.get("DeleteMarkers", []))
                if wanted(entry["Key"])
            ]
            if versions:
                answer = clients.s3.delete_objects(Bucket=bucket, Delete={"Objects": versions, "Quiet": True})
                if answer.get("Errors"):
                    raise SourceUnavailable("Some objects could not be deleted; try again in a minute.")
                keys.update(version["Key"] for version in versions)
    return len(keys)
