"""Model packages after a restore: found in the bucket that took over, and recorded there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from wsi.concurrency import map_concurrently
from wsi.models.package_files import CARD, CONFIG
from wsi.ports.objects import ObjectHeads
from wsi.ports.recovery import ModelMove, RecoveryLedger, StoredModel
from wsi.records.registrations import PackageFile
from wsi.recovery.verifying import Finding, Problem, find_object, find_problem, split_uri
from wsi.states import RegistrationState


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelsRecovered:
    models: int
    files: int
    findings: tuple[Finding, ...]


def recover_models(source: str, *, ledger: RecoveryLedger, packages: ObjectHeads) -> ModelsRecovered:
    """Record all packages in their new place: what was in the bucket `source` is in `packages` now, under the same
    keys. A worker compares the SHA-256 of each file before it loads a model, so sizes suffice here. Idempotent."""
    stored = ledger.list_models()
    findings = map_concurrently(lambda one: _check(one, packages), stored)
    ledger.move_models([_move(one, source, packages) for one in stored])
    return ModelsRecovered(
        models=len(stored),
        files=sum(len(one.registration.files) for one in stored if one.registration is not None),
        findings=tuple(finding for found in findings for finding in found),
    )


def _move(stored: StoredModel, source: str, packages: ObjectHeads) -> ModelMove:
    uri = stored.model.package_uri if stored.model is not None else None
    files = stored.registration.files if stored.registration is not None else None
    return ModelMove(
        name=stored.name,
        version=stored.version,
        package_uri=_place(uri, source, packages) if uri is not None else None,
        files=[asdict(_place_file(file, source, packages)) for file in files] if files is not None else None,
    )


def _place_file(file: PackageFile, source: str, packages: ObjectHeads) -> PackageFile:
    return replace(file, uri=_place(file.uri, source, packages))


def _place(uri: str, source: str, packages: ObjectHeads) -> str:
    """Return the new address. A package in a bucket that is not `source` stays where it is."""
    bucket, key = split_uri(uri)
    return packages.make_uri(key) if bucket == source else uri


def _check(stored: StoredModel, packages: ObjectHeads) -> list[Finding]:
    subject = f"{stored.name}@{stored.version}"
    registration = stored.registration
    if registration is not None:
        if registration.state not in (RegistrationState.READY, RegistrationState.CHECKING):
            return []  # its files were dropped, or were never complete
        problems = [
            (file.name, find_problem(find_object(packages, packages.make_uri(split_uri(file.uri)[1])), size=file.size))
            for file in registration.files
        ]
        return [Finding("model", subject, name, problem) for name, problem in problems if problem is not None]
    assert stored.model is not None, "a version without a registration was registered by the owner"
    prefix = split_uri(stored.model.package_uri or "")[1].rstrip("/")
    cards = [find_object(packages, packages.make_uri(f"{prefix}/{name}")) for name in (CARD, CONFIG)]
    return [] if any(cards) else [Finding("model", subject, CARD, Problem.MISSING)]
