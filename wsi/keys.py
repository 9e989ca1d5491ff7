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
    """In the results bucket: what inspections keep of a slide."""
    return f"{tenant}/slides/{slide}/"


def inspected(tenant: UUID, slide: UUID, version: int) -> str:
    """Return the folder of one inspection, of the slide at `version`. The version is part of the key: an inspection
    that ends late cannot overwrite what a later one, perhaps of another image, has stored."""
    return f"{kept_prefix(tenant, slide)}{version:05d}/"


def inspected_for(thumbnail_key: str | None) -> str | None:
    """Return the folder of the inspection that a slide names by its thumbnail. None where it names none."""
    return None if thumbnail_key is None else thumbnail_key[: thumbnail_key.rfind("/") + 1]


def thumbnail(folder: str) -> str:
    return f"{folder}thumbnail.jpeg"


def slide_index(folder: str) -> str:
    return f"{folder}index"


def tissue_mask(folder: str) -> str:
    return f"{folder}tissue-mask.json"


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
