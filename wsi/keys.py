"""Where things lie. The only place that builds object keys; none holds a name that the user gave."""

from __future__ import annotations

from uuid import UUID

#: First in a key, since a bucket's rules know objects by how their keys begin: these are needed until the job is
#: stitched, and by a retry.
SHARDS = "shards/"


def slide_file(tenant: UUID, slide: UUID, number: int) -> str:
    """In the slides bucket."""
    return f"{tenant}/slides/{slide}/{number:05d}"


def clean_file(tenant: UUID, slide: UUID, number: int) -> str:
    """In the slides bucket: a file without what identified somebody."""
    return f"{slide_file(tenant, slide, number)}-clean"


def kept_prefix(tenant: UUID, slide: UUID) -> str:
    """In the results bucket: what inspection keeps of a slide."""
    return f"{tenant}/slides/{slide}/"


def thumbnail(tenant: UUID, slide: UUID) -> str:
    return f"{kept_prefix(tenant, slide)}thumbnail.jpeg"


def slide_index(tenant: UUID, slide: UUID) -> str:
    return f"{kept_prefix(tenant, slide)}index"


def tissue_mask(tenant: UUID, slide: UUID) -> str:
    return f"{kept_prefix(tenant, slide)}tissue-mask.json"


def job_prefix(tenant: UUID, job: UUID) -> str:
    return f"{tenant}/jobs/{job}/"


def plan(tenant: UUID, job: UUID) -> str:
    return f"{job_prefix(tenant, job)}plan.json.gz"


def shard_prefix(tenant: UUID, job: UUID, shard: int) -> str:
    return f"{SHARDS}{tenant}/{job}/{shard:05d}/"


def checkpoint(tenant: UUID, job: UUID, shard: int, attempt: int, number: int) -> str:
    return f"{shard_prefix(tenant, job, shard)}{attempt:03d}/checkpoint-{number:05d}.npz"


def shard_result(tenant: UUID, job: UUID, shard: int, attempt: int) -> str:
    """The attempt is part of the key: a late worker of an older attempt can not overwrite what was committed."""
    return f"{shard_prefix(tenant, job, shard)}{attempt:03d}/result.npz"


def result(tenant: UUID, job: UUID, name: str) -> str:
    return f"{job_prefix(tenant, job)}results/{name}"
