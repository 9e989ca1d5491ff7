"""The owner's actions on models: those of the installation, and which of a tenant's all tenants may use."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import errors

from adapters.postgres import models
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from wsi.errors import Conflict, NotFound
from wsi.records.identity import Actor, Role


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSummary:
    name: str
    version: str
    digest: str
    is_default: bool
    tenant: str | None  #: name of its owner; None: the installation


class PostgresModelAdministration(Transactions):
    """The operations on models that no tenant and no worker may do."""

    def list_models(self) -> tuple[ModelSummary, ...]:
        with self._transaction() as cursor:
            found = cursor.execute(
                """
                SELECT given_name AS name, version, digest, is_default, tenants.name AS tenant
                FROM model_versions LEFT JOIN tenants ON tenants.id = owner
                ORDER BY tenants.name NULLS FIRST, given_name COLLATE "C", version COLLATE "C"
                """
            )
            return tuple(ModelSummary(**row) for row in found)

    def choose_default(self, name: str, version: str) -> None:
        with self._transaction() as cursor:
            models.lock_name(cursor, None, name)
            _check_exists(cursor, None, name, version)
            models.make_default(cursor, None, name, version)

    def share_model(self, tenant: UUID, name: str, version: str, *, actor: str) -> None:
        with self._transaction() as cursor:
            others = models.lock_name(cursor, None, name)
            models.lock_name(cursor, tenant, name)
            _check_exists(cursor, tenant, name, version)
            try:
                cursor.execute(
                    "UPDATE model_versions SET owner = NULL, is_default = %s"
                    " WHERE owner = %s AND given_name = %s AND version = %s",
                    (not others, tenant, name, version),
                )
            except errors.UniqueViolation as error:
                raise Conflict("The installation has a model of this name and version already.") from error
            _choose_newest(cursor, tenant, name)
            note(cursor, Actor(tenant=tenant, subject=actor, role=Role.ADMIN), "model.share", f"{name}@{version}")


def _check_exists(cursor: Cursor, owner: UUID | None, name: str, version: str) -> None:
    found = cursor.execute(
        "SELECT FROM model_versions WHERE owner IS NOT DISTINCT FROM %s AND given_name = %s AND version = %s",
        (owner, name, version),
    )
    if found.fetchone() is None:
        raise NotFound("This owner has no model with this name and version; list_models lists all.")


def _choose_newest(cursor: Cursor, tenant: UUID, name: str) -> None:
    """Make the tenant's newest version of the name its default if it has versions and no default."""
    cursor.execute(
        """
        UPDATE model_versions SET is_default = true
        WHERE owner = %(tenant)s AND given_name = %(name)s AND version = (
            SELECT version FROM model_versions WHERE owner = %(tenant)s AND given_name = %(name)s
            ORDER BY created_at DESC, version DESC LIMIT 1
        ) AND NOT EXISTS (
            SELECT FROM model_versions WHERE owner = %(tenant)s AND given_name = %(name)s AND is_default
        )
        """,
        {"tenant": tenant, "name": name},
    )
