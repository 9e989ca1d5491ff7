"""`wsi.ports.objects.ObjectLocks` on one bucket of S3 that has Object Lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from adapters.aws_clients import AwsClients
from adapters.s3.refusals import read_code, translate_refusals
from wsi.concurrency import map_concurrently
from wsi.ports.objects import ObjectLock

_FOR_EVER = datetime.max.replace(tzinfo=UTC)


class S3Locks:
    """Locks belong to versions, and a deletion deletes all of them, so every version counts. S3 cannot list locks: the
    head of each version states its own."""

    def __init__(self, clients: AwsClients, bucket: str) -> None:
        self._clients = clients
        self._bucket = bucket

    def find_lock(self, *prefixes: str) -> ObjectLock | None:
        with translate_refusals():
            locks = map_concurrently(self._read_lock, self._list_versions(prefixes))
        now = datetime.now(UTC)
        in_force = [lock for lock in locks if lock is not None and (lock.until is None or lock.until > now)]
        return max(in_force, key=lambda lock: lock.until or _FOR_EVER, default=None)

    def set_legal_hold(self, *prefixes: str, held: bool) -> None:
        status = {"Status": "ON" if held else "OFF"}
        with translate_refusals():
            map_concurrently(
                lambda version: self._clients.s3.put_object_legal_hold(**version, LegalHold=status),
                self._list_versions(prefixes),
            )

    def _list_versions(self, prefixes: Sequence[str]) -> list[dict[str, Any]]:
        return [version for found in map_concurrently(self._list_below, prefixes) for version in found]

    def _list_below(self, prefix: str) -> list[dict[str, Any]]:
        pages = self._clients.s3.get_paginator("list_object_versions").paginate(Bucket=self._bucket, Prefix=prefix)
        return [
            {"Bucket": self._bucket, "Key": entry["Key"], "VersionId": entry["VersionId"]}
            for page in pages
            for entry in page.get("Versions", [])
        ]

    def _read_lock(self, version: dict[str, Any]) -> ObjectLock | None:
        # S3 leaves a lock out of the head, without an error, where the caller has no right to see it: the roles have
        # s3:GetObjectRetention and s3:GetObjectLegalHold.
        try:
            head = self._clients.s3.head_object(**version)
        except ClientError as error:
            if read_code(error) == "404":  # deleted since it was listed
                return None
            raise
        if head.get("ObjectLockLegalHoldStatus") == "ON":
            return ObjectLock(None)
        until = head.get("ObjectLockRetainUntilDate")
        return None if until is None else ObjectLock(until.astimezone(UTC))
