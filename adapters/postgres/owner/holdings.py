"""Administration of what tenants and the installation hold: sources, models, periods of retention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adapters.postgres.owner import sources
from adapters.postgres.owner.models import ModelSummary, PostgresModelAdministration
from adapters.postgres.owner.retention import change_retention, read_retention
from adapters.postgres.owner.transactions import OwnerTransactions, lock_tenant
from adapters.postgres.system_ledger import PostgresSystemLedger
from wsi.records.models import ModelVersion
from wsi.records.quotas import Retention
from wsi.sources.source import Source


class HoldingsAdministration(OwnerTransactions):
    """The owner's actions on what tenants hold. A tenant is named by its name."""

    def list_sources(self, tenant: str) -> tuple[Source, ...]:
        """Return where the tenant's slides by reference may lie. Raises NotFound."""
        with self._transaction() as connection:
            return sources.list_sources(connection, lock_tenant(connection, tenant))

    def add_source(self, tenant: str, source: Source) -> None:
        """Let a tenant register and read the objects of a source. Raises NotFound."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            if sources.add_source(connection, tenant_id, source):
                self._audit(connection, tenant_id, "source.add", source.uri)

    def remove_source(self, tenant: str, source: Source) -> bool:
        """Remove a source, and return whether the tenant had it. Slides that no other source covers can be read no
        more, and can again once it is added. Raises NotFound."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            is_removed = sources.remove_source(connection, tenant_id, source)
            if is_removed:
                self._audit(connection, tenant_id, "source.remove", source.uri)
            return is_removed

    def register_model(self, model: ModelVersion, *, tenant: str | None = None) -> None:
        """Register a model of the installation, or of a tenant; the audit log of either records it. Raises NotFound,
        and Conflict for another digest."""
        owner = None
        if tenant is not None:
            with self._transaction() as connection:
                owner = lock_tenant(connection, tenant)
        with self._connections() as connections:
            PostgresSystemLedger(connections).register_model(replace(model, owner=owner))
        with self._transaction() as connection:
            self._audit(connection, owner, "model.register", f"{model.name}@{model.version}", {"digest": model.digest})

    def list_models(self) -> tuple[ModelSummary, ...]:
        """List the versions of all owners: first the installation's, then by tenant."""
        with self._connections() as connections:
            return PostgresModelAdministration(connections).list_models()

    def choose_default_model(self, name: str, version: str) -> None:
        """Make this version the one that a job uses if it names only the installation's model. Raises NotFound."""
        with self._connections() as connections:
            PostgresModelAdministration(connections).choose_default(name, version)

    def share_model(self, tenant: str, name: str, version: str) -> None:
        """Make a tenant's version the installation's, so that all tenants may use it; the tenant's jobs go on with it.
        Raises NotFound, and Conflict if the installation has such a version."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
        with self._connections() as connections:
            PostgresModelAdministration(connections).share_model(tenant_id, name, version, actor=self._actor)

    def set_retention(self, tenant: str, changes: Mapping[str, int | None]) -> Retention:
        """Change the named periods of a tenant, and return those that then hold for it. None for a period: nothing is
        deleted for its age. Raises NotFound."""
        with self._transaction() as connection:
            tenant_id = lock_tenant(connection, tenant)
            if changes:
                self._audit(connection, tenant_id, "retention.set", str(tenant_id), dict(changes))
            return change_retention(connection, tenant_id, changes)

    def get_retention(self, tenant: str) -> Retention:
        """Return the periods after which the sweep deletes for a tenant. Raises NotFound."""
        with self._transaction() as connection:
            return read_retention(connection, lock_tenant(connection, tenant))
