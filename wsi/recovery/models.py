"""Model packages after a restore: found in the bucket that took over, and recorded there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from wsi.concurrency import map_concurrently
from wsi.models.package_files import CARD, CONFIG
from wsi.ports.objects import ObjectHeads
from wsi.ports.recovery import ModelMove, RecoveryLedger, StoredModel
from wsi.recovery.verifying import Finding, ObjectProblem, find_object, find_problem, split_uri
from wsi.states import RegistrationState


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelsRecovered:
    models: int
    files: int
    findings: tuple[Finding, ...]


def recover_models(*, ledger: RecoveryLedger, packages: ObjectHeads) -> ModelsRecovered:
    """Record all packages in their new place: they are in `packages` now, under the keys that they had. A worker
    compares the SHA-256 of each file before it loads a model, so sizes suffice here. Idempotent."""
    stored = ledger.list_models()
    findings = map_concurrently(lambda one: _check(one, packages), stored)
    ledger.move_models([_move(one, packages) for one in stored])
    return ModelsRecovered(
        models=len(stored),
        files=sum(len(one.registration.files) for one in stored if one.registration is not None),
        findings=tuple(finding for found in findings for finding in found),
    )


def _move(stored: StoredModel, packages: ObjectHeads) -> ModelMove:
    uri = stored.model.package_uri if stored.model is not None else None
    files = stored.registration.files if stored.registration is not None else None
    return ModelMove(
        owner=stored.owner,
        name=stored.name,
        version=stored.version,
        package_uri=_place(uri, packages) if uri is not None else None,
        files=[asdict(replace(file, uri=_place(file.uri, packages))) for file in files] if files is not None else None,
    )


def _place(uri: str, packages: ObjectHeads) -> str:
    """Return the new address: workers load packages from the bucket of models alone."""
    return packages.make_uri(split_uri(uri)[1])


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
    return [] if any(cards) else [Finding("model", subject, CARD, ObjectProblem.MISSING)]
