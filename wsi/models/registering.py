"""Models that an admin adds for their tenant: their package is uploaded in parts and tried by a worker; a model that
passes accepts the tenant's jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from wsi import keys
from wsi.access import require
from wsi.concurrency import map_concurrently
from wsi.errors import Conflict, NotFound
from wsi.models.builtin import BUILTIN
from wsi.models.registration_rules import NewPackageFile, check_package, make_not_uploading_error, stays
from wsi.notices.outbox import wake
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import MultipartStore
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.models import ModelVersion
from wsi.records.registrations import NewRegistration, PackageFile, Registration
from wsi.states import RegistrationState
from wsi.uploads import multipart
from wsi.uploads.multipart import PartGranted, PartHeld
from wsi.uploads.rules import PartAsked


def open_registration(
    actor: Actor,
    name: str,
    version: str,
    files: Sequence[NewPackageFile],
    *,
    becomes_default: bool,
    ledger: TenantLedger,
    packages: MultipartStore,
) -> Registration:
    """Return a registration in state UPLOADING with one multipart upload a file, or an existing one of the same files,
    to resume it. It replaces one that was refused or not finished. Raises Forbidden, Invalid, and Conflict for a
    version that the tenant has already, and for a name of the installation. What other tenants have changes nothing."""
    require(actor, Role.ADMIN)
    check_package(name, version, files)
    if name in BUILTIN:
        raise Conflict(f"The model {name} is built in: add yours under another name.")
    wanted = _make_registration(actor, name, version, files, becomes_default, packages)
    known = _find_known(actor, name, version, ledger)
    if known is not None and stays(known, wanted):
        if becomes_default and known.state is RegistrationState.READY:
            ledger.choose_default(actor, name, version)
        return known
    # A death before the next commit leaves uploads that no row knows: the bucket's lifecycle aborts them (F-44).
    wanted = _begin_uploads(wanted, packages)
    opened, replaced = ledger.open_registration(actor, wanted)
    if opened.id != wanted.id:
        _drop(wanted.files, packages)
    if replaced is not None:
        _drop(replaced.files, packages)
    return opened


def find_registration(actor: Actor, name: str, version: str, *, ledger: TenantLedger) -> Registration | None:
    """Return what an admin may know of a version that is being added. Return None if there is none, or for another
    role."""
    return _find_known(actor, name, version, ledger) if actor.role is Role.ADMIN else None


def grant_package_parts(
    actor: Actor, name: str, version: str, parts: Sequence[PartAsked], *, ledger: TenantLedger, packages: MultipartStore
) -> tuple[PartGranted, ...]:
    """Return a URL for each part, good for 15 minutes, that accepts only the announced bytes (F-40)."""
    return multipart.grant(_uploading(actor, name, version, ledger).files, parts, packages)


def list_stored_package_parts(
    actor: Actor,
    name: str,
    version: str,
    *,
    after: tuple[int, int],
    limit: int,
    ledger: TenantLedger,
    packages: MultipartStore,
) -> tuple[tuple[PartHeld, ...], tuple[int, int] | None]:
    """Return the parts that S3 holds after (file, n), for resuming, and where the next page begins, or None on the last
    page."""
    return multipart.list_held_parts(_uploading(actor, name, version, ledger).files, packages, after=after, limit=limit)


def complete_registration(
    actor: Actor,
    name: str,
    version: str,
    *,
    ledger: TenantLedger,
    packages: MultipartStore,
    queues: Queues,
    traceparent: str,
) -> Registration:
    """Move a registration from UPLOADING to CHECKING once S3 holds every part; a worker then tries the model.
    Idempotent. Raises Forbidden, NotFound, and Conflict that names the missing parts, or for a version that another
    package took meanwhile."""
    require(actor, Role.ADMIN)
    known = ledger.get_registration(actor, name, version)
    if known.state is not RegistrationState.UPLOADING:
        return known
    multipart.put_together(known.files, packages)
    completed = ledger.complete_registration(actor, known.id)
    if completed is None:
        _drop(known.files, packages)
        raise Conflict("Another package was added under this version meanwhile: add yours under another one.")
    wake(queues, traceparent=traceparent)
    return completed


def choose_default(actor: Actor, name: str, version: str, *, ledger: TenantLedger) -> ModelVersion:
    """Make the tenant's version the default, which a job gets that names only the model, and return it. Raises
    Forbidden, also for a version of the installation, and NotFound."""
    require(actor, Role.ADMIN)
    return ledger.choose_default(actor, name, version)


def _find_known(actor: Actor, name: str, version: str, ledger: TenantLedger) -> Registration | None:
    try:
        return ledger.get_registration(actor, name, version)
    except NotFound:
        return None


def _make_registration(
    actor: Actor,
    name: str,
    version: str,
    files: Sequence[NewPackageFile],
    becomes_default: bool,
    packages: MultipartStore,
) -> NewRegistration:
    registration_id = uuid4()
    placed = tuple(
        PackageFile(
            name=file.name,
            size=file.size,
            sha256=file.sha256,
            uri=packages.make_uri(keys.of_package_file(actor.tenant, registration_id, file.name)),
        )
        for file in files
    )
    return NewRegistration(
        id=registration_id, name=name, version=version, files=placed, becomes_default=becomes_default
    )


def _begin_uploads(wanted: NewRegistration, packages: MultipartStore) -> NewRegistration:
    upload_ids = map_concurrently(lambda file: packages.begin_upload(file.uri), wanted.files)
    begun = tuple(replace(file, upload_id=id_) for file, id_ in zip(wanted.files, upload_ids, strict=True))
    return replace(wanted, files=begun)


def _drop(files: Sequence[PackageFile], packages: MultipartStore) -> None:
    """Abort the uploads of the files, and delete the files. Idempotent. The order matters: an upload that ends before
    it is aborted leaves an object, which the deletion then finds."""
    unfinished = [(file.uri, file.upload_id) for file in files if file.upload_id]
    map_concurrently(lambda upload: packages.abort_upload(*upload), unfinished)
    map_concurrently(lambda file: packages.delete(file.uri), files)


def _uploading(actor: Actor, name: str, version: str, ledger: TenantLedger) -> Registration:
    require(actor, Role.ADMIN)
    known = ledger.get_registration(actor, name, version)
    if known.state is not RegistrationState.UPLOADING:
        raise make_not_uploading_error(known)
    return known
