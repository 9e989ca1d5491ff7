"""The comparison of a stored object with what SQL says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from wsi.digests import PART_SIZE, compute_composite_digest, compute_slide_digest
from wsi.errors import SourceMissing
from wsi.ports.objects import ObjectHeads, StoredObject
from wsi.uploads.rules import count_parts


class ObjectProblem(StrEnum):
    MISSING = "missing"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Finding:
    """An object that a recovery did not find, or found with other bytes. It holds ids only, never a user's names."""

    kind: str  #: "slide", "inspection", "model" or "result"
    subject: str  #: the id of its slide or job, or a model's name and version
    part: str  #: the number of the file, or its name where the name is ours
    problem: ObjectProblem

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def split_uri(uri: str) -> tuple[str, str]:
    """Return (bucket, key) of "s3://bucket/key"."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def find_object(objects: ObjectHeads, uri: str) -> StoredObject | None:
    """Return the object, or None if it is not there."""
    try:
        return objects.head(uri)
    except SourceMissing:
        return None


def find_problem(stored: StoredObject | None, *, size: int) -> ObjectProblem | None:
    if stored is None:
        return ObjectProblem.MISSING
    return ObjectProblem.DIFFERS if stored.size != size else None


def matches_digest(stored: Sequence[StoredObject], digest: str) -> bool | None:
    """Return whether a slide's files have the slide's `digest`; None if S3 holds no checksum that could tell.

    Replication copies the checksums of uploads, so it can mostly. A copy by other tools has none, or one of other
    parts.
    """
    digests = [_composite(one) for one in stored]
    if any(one is None for one in digests):
        return None
    return compute_slide_digest([one for one in digests if one is not None]) == digest


def _composite(stored: StoredObject) -> str | None:
    """Return the digest of a file as an upload states it: over parts of 16 MiB."""
    if stored.sha256 is None:
        return None
    if "-" not in stored.sha256:
        return compute_composite_digest([stored.sha256]) if 0 < stored.size <= PART_SIZE else None
    return stored.sha256 if stored.sha256.endswith(f"-{count_parts(stored.size)}") else None
