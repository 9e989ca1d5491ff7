"""Permanent deletion: our buckets are versioned, so a plain delete only hides an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import translate_refusals
from wsi.errors import ObjectLocked, SourceUnavailable

#: In the text with which S3 refuses to delete a locked version. The code is that of a missing right, AccessDenied.
_LOCKED = "object lock"


def delete_versions(clients: AwsClients, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> int:
    """Delete every version of the objects below `prefix` whose key is `wanted`; return the number of objects.
    Idempotent. When S3 keeps some, the others are deleted; raises ObjectLocked if it keeps them under a lock,
    SourceUnavailable otherwise.

    A delete marker stays in place of each object. S3 replicates markers to a second region and no deletion of versions,
    so only the marker makes the replica go too (docs/decisions/0115). The bucket's life cycle removes markers that hide
    nothing.
    """
    keys: set[str] = set()
    refusals: list[str] = []
    with translate_refusals():
        # A page holds 1,000 versions, which is what one call deletes. The newest version of a key comes first.
        for page in clients.s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            versions = [entry for entry in page.get("Versions", []) if wanted(entry["Key"])]
            markers = [entry for entry in page.get("DeleteMarkers", []) if wanted(entry["Key"])]
            latest = [{"Key": entry["Key"]} for entry in versions if entry["IsLatest"]]
            refusals += _delete(clients, bucket, latest)
            hidden = [*versions, *(entry for entry in markers if not entry["IsLatest"])]
            named = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in hidden]
            refusals += _delete(clients, bucket, named)
            keys.update(entry["Key"] for entry in versions)
    if any(_LOCKED in refusal.lower() for refusal in refusals):
        raise ObjectLocked("S3 Object Lock keeps some of the objects: they can be deleted once their lock has ended.")
    if refusals:
        raise SourceUnavailable("Some objects could not be deleted; try again in a minute.")
    return len(keys)


def _delete(clients: AwsClients, bucket: str, objects: list[dict[str, Any]]) -> list[str]:
    """Delete the named versions, or hide an object that is named without one. Return S3's texts on those it keeps."""
    if not objects:
        return []
    answer = clients.s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
    return [error.get("Message", "") for error in answer.get("Errors", ())]
