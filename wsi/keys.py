"""Object keys. No other module builds them, and none holds a name that the user gave."""

from __future__ import annotations

from uuid import UUID

#: First in a key, since a bucket's rules know objects by how their keys begin: these are needed until the job is
#: stitched, and by a retry.
SHARDS = "shards/"
PACKAGES = "packages/"  #: in the models bucket: what admins upload


def make_tenant_folder(tenant: UUID) -> str:
    """Return the prefix in the slides bucket of all files of a tenant's slides."""
    return f"{tenant}/slides/"


def make_slide_folder(tenant: UUID, slide: UUID) -> str:
    """Return the prefix in the slides bucket of a slide's files."""
    return f"{make_tenant_folder(tenant)}{slide}/"


def of_slide_file(tenant: UUID, slide: UUID, number: int) -> str:
    """Return the key of a file of a slide in the slides bucket."""
    return f"{make_slide_folder(tenant, slide)}{number:05d}"


def of_clean_file(tenant: UUID, slide: UUID, number: int) -> str:
    """Return the key of a file's de-identified copy in the slides bucket."""
    return f"{of_slide_file(tenant, slide, number)}-clean"


def make_inspections_prefix(tenant: UUID, slide: UUID) -> str:
    """Return the prefix in the results bucket of all that inspections store of a slide."""
    return f"{tenant}/slides/{slide}/"


def make_inspection_folder(tenant: UUID, slide: UUID, version: int) -> str:
    """Return the folder of the inspection of a slide at `version`. The version is part of the key: an inspection that
    ends late cannot overwrite what a later one, perhaps of another image, has stored."""
    return f"{make_inspections_prefix(tenant, slide)}{version:05d}/"


def find_inspection_folder(thumbnail_key: str | None) -> str | None:
    """Return the folder of the inspection that stored a slide's thumbnail, or None for a slide without one."""
    return None if thumbnail_key is None else thumbnail_key[: thumbnail_key.rfind("/") + 1]


def of_thumbnail(folder: str) -> str:
    return f"{folder}thumbnail.jpeg"


def of_slide_index(folder: str) -> str:
    return f"{folder}index"


def of_tissue_mask(folder: str) -> str:
    return f"{folder}tissue-mask.json"


def make_job_prefix(tenant: UUID, job: UUID) -> str:
    return f"{tenant}/jobs/{job}/"


def of_plan(tenant: UUID, job: UUID) -> str:
    return f"{make_job_prefix(tenant, job)}plan.json.gz"


def make_shards_prefix(tenant: UUID, job: UUID) -> str:
    """Return the prefix of what all shards of a job stored."""
    return f"{SHARDS}{tenant}/{job}/"


def make_shard_prefix(tenant: UUID, job: UUID, shard: int) -> str:
    return f"{make_shards_prefix(tenant, job)}{shard:05d}/"


def of_checkpoint(tenant: UUID, job: UUID, shard: int, attempt: int, number: int) -> str:
    return f"{make_shard_prefix(tenant, job, shard)}{attempt:03d}/checkpoint-{number:05d}.npz"


def of_shard_result(tenant: UUID, job: UUID, shard: int, attempt: int) -> str:
    """Return the key of a shard's result. The attempt is part of it: a late worker of an older attempt cannot overwrite
    what was committed."""
    return f"{make_shard_prefix(tenant, job, shard)}{attempt:03d}/result.npz"


def of_result(tenant: UUID, job: UUID, name: str) -> str:
    return f"{make_job_prefix(tenant, job)}results/{name}"


def make_package_prefix(tenant: UUID, registration: UUID) -> str:
    """Return the prefix of a tenant's package in the models bucket."""
    return f"{PACKAGES}{tenant}/{registration}/"


def list_package_prefixes(tenant: UUID, registration: UUID) -> tuple[str, str]:
    """Return the prefixes that a package may have: today's, and that of packages from before models had owners."""
    return make_package_prefix(tenant, registration), f"{PACKAGES}{registration}/"


def of_package_file(tenant: UUID, registration: UUID, name: str) -> str:
    """Return the key of a file in the models bucket; `name` is one of `wsi.models.package_files`."""
    return f"{make_package_prefix(tenant, registration)}{name}"
