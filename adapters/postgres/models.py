"""Model versions. They belong to the installation, not to a tenant."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from adapters.postgres import rows
from adapters.postgres.connections import Cursor
from wsi.ledger_rules import no_model, other_model_digest
from wsi.records.models import ModelVersion


def every(cursor: Cursor) -> tuple[ModelVersion, ...]:
    found = cursor.execute('SELECT * FROM model_versions ORDER BY name COLLATE "C", version COLLATE "C"')
    return tuple(rows.model_version(row) for row in found)


def get(cursor: Cursor, name: str, version: str | None) -> ModelVersion:
    row = cursor.execute(
        """
        SELECT * FROM model_versions
        WHERE name = %(name)s AND CASE WHEN %(version)s::text IS NULL THEN is_default ELSE version = %(version)s END
        """,
        {"name": name, "version": version},
    ).fetchone()
    if row is None:
        raise no_model()
    return rows.model_version(row)


def register(cursor: Cursor, model: ModelVersion) -> None:
    cursor.execute("INSERT INTO models (name) VALUES (%s) ON CONFLICT DO NOTHING", (model.name,))
    # The lock on the name keeps two registrations from both becoming the default.
    cursor.execute("SELECT FROM models WHERE name = %s FOR UPDATE", (model.name,))
    known = cursor.execute(
        "SELECT digest FROM model_versions WHERE name = %s AND version = %s", (model.name, model.version)
    ).fetchone()
    if known:
        if known["digest"] != model.digest:
            raise other_model_digest()
        return
    if model.is_default:
        cursor.execute("UPDATE model_versions SET is_default = false WHERE name = %s AND is_default", (model.name,))
    cursor.execute(
        """
        INSERT INTO model_versions (name, version, digest, card, package_uri, is_default)
        VALUES (%s, %s, %s, %s, %s, %s)
        """,
        (model.name, model.version, model.digest, Jsonb(model.card), model.package_uri, model.is_default),
    )
