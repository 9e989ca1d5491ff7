"""The part of the ledger that records uploaded model packages until they become model versions."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from wsi.errors import FailReason
from wsi.records.identity import Actor
from wsi.records.models import ModelVersion
from wsi.records.registrations import ModelMeasurements, NewRegistration, Registration


class TenantRegistrations(Protocol):
    """The API's operations on model packages."""

    def get_registration(self, actor: Actor, name: str, version: str) -> Registration:
        """Return the registration of a version. Raises NotFound, also for one of another tenant."""
        ...

    def open_registration(self, actor: Actor, wanted: NewRegistration) -> tuple[Registration, Registration | None]:
        """Open a registration in state UPLOADING. Return it and the one that it replaced: of another package that was
        not finished, or a rejected one. For the same package, return the existing registration and None. Raises
        Conflict for a version that is taken (`wsi.models.registration_rules`), and for a name that only the
        installation has (`wsi.models.owners`). Other tenants' models change nothing."""
        ...

    def complete_registration(self, actor: Actor, registration_id: UUID) -> Registration | None:
        """Move a registration from UPLOADING to CHECKING with an outbox row to the workers. Idempotent: one that is
        past UPLOADING is returned unchanged. Return None if another package took its place."""
        ...

    def choose_default(self, actor: Actor, name: str, version: str) -> ModelVersion:
        """Make this version the one that a job uses if it names only the model. Raises NotFound, and Forbidden for a
        version of the installation."""
        ...


class SystemRegistrations(Protocol):
    """The workers' operations on model packages."""

    def find_registration_to_try(self, registration_id: UUID) -> Registration | None:
        """Return the registration while it is CHECKING; None otherwise, as for a late duplicate message."""
        ...

    def begin_trial(self, registration_id: UUID) -> bool:
        """Count one more attempt. Return False if the registration is no longer CHECKING. Reject it, and return False,
        if SILENT_TRIES (of `wsi.models.registration_rules`) workers began an attempt and none reported an outcome."""
        ...

    def accept_model(self, registration_id: UUID, model: ModelVersion, measured: ModelMeasurements) -> bool:
        """Move a registration from CHECKING to READY and add the model version, which belongs to the registration's
        tenant. Return False if another process was faster."""
        ...

    def reject_model(self, registration_id: UUID, reason: FailReason, sentence: str) -> bool:
        """Move a registration from CHECKING to REJECTED. Return False if another process was faster."""
        ...
