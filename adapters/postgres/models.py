"""Model versions. They belong to the installation, not to a tenant."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from adapters.postgres import rows
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from wsi.ledger_rules import make_other_digest_error, make_unknown_model_error
from wsi.models.registration_rules import mark_default
from wsi.records.identity import Actor
from wsi.records.models import ModelVersion


class PostgresTenantModels(Transactions):
    """The API's operations on model versions."""

    def list_models(self) -> tuple[ModelVersion, ...]:
        with self._transaction() as cursor:
            found = cursor.execute('SELECT * FROM model_versions ORDER BY name COLLATE "C", version COLLATE "C"')
            return tuple(rows.read_model_version(row) for row in found)

    def get_model(self, name: str, version: str | None = None) -> ModelVersion:
        with self._transaction() as cursor:
            return get(cursor, name, version)

    def choose_default(self, actor: Actor, name: str, version: str) -> ModelVersion:
        with self._transaction(actor.tenant) as cursor:
            # The API may not lock the name's row, which it cannot change; it may lock these rows.
            cursor.execute("SELECT FROM model_versions WHERE name = %s ORDER BY version FOR UPDATE", (name,))
            _take_default_away(cursor, name)
            cursor.execute(
                "UPDATE model_versions SET is_default = true WHERE name = %s AND version = %s", (name, version)
            )
            chosen = get(cursor, name, version)
            note(cursor, actor, "model.default", f"{name}@{version}")
            return chosen


class PostgresSystemModels(Transactions):
    """The registration of model versions."""

    def register_model(self, model: ModelVersion) -> None:
        with self._transaction() as cursor:
            others = lock_name(cursor, model.name)
            known = cursor.execute(
                "SELECT digest FROM model_versions WHERE name = %s AND version = %s", (model.name, model.version)
            ).fetchone()
            if known is None:
                add(cursor, mark_default(model, asked=model.is_default, others=others))
            elif known["digest"] != model.digest:
                raise make_other_digest_error()


def get(cursor: Cursor, name: str, version: str | None) -> ModelVersion:
    row = cursor.execute(
        """
        SELECT * FROM model_versions
        WHERE name = %(name)s AND CASE WHEN %(version)s::text IS NULL THEN is_default ELSE version = %(version)s END
        """,
        {"name": name, "version": version},
    ).fetchone()
    if row is None:
        raise make_unknown_model_error()
    return rows.read_model_version(row)


def exists(cursor: Cursor, name: str, version: str) -> bool:
    found = cursor.execute("SELECT FROM model_versions WHERE name = %s AND version = %s", (name, version))
    return found.fetchone() is not None


def lock_name(cursor: Cursor, name: str) -> bool:
    """Lock a model's name and return whether it has versions. The lock keeps two registrations from both becoming the
    default."""
    cursor.execute("INSERT INTO models (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,))
    cursor.execute("SELECT FROM models WHERE name = %s FOR UPDATE", (name,))
    return cursor.execute("SELECT FROM model_versions WHERE name = %s LIMIT 1", (name,)).fetchone() is not None


def add(cursor: Cursor, model: ModelVersion) -> None:
    """Insert a model version. The caller holds the lock of its name."""
    if model.is_default:
        _take_default_away(cursor, model.name)
    cursor.execute(
        """
        INSERT INTO model_versions (name, version, digest, card, package_uri, is_default)
        VALUES (%s, %s, %s, %s, %s, %s)
        """,
        (model.name, model.version, model.digest, Jsonb(model.card), model.package_uri, model.is_default),
    )


def _take_default_away(cursor: Cursor, name: str) -> None:
    cursor.execute("UPDATE model_versions SET is_default = false WHERE name = %s AND is_default", (name,))
