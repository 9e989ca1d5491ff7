"""Model versions of the installation and of tenants. Row-level security shows the API those of the installation and of
its tenant alone; of two with the same name and version, the tenant's own is the one that counts."""

from __future__ import annotations

from uuid import UUID

from psycopg import errors
from psycopg.types.json import Jsonb

from adapters.postgres import rows, slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Row, Transactions
from wsi.ledger_rules import make_other_digest_error, make_unknown_model_error
from wsi.models.owners import check_name, make_not_own_model_error, select_usable
from wsi.models.registration_rules import make_version_taken_error, mark_default
from wsi.records.identity import Actor
from wsi.records.models import ModelVersion
from wsi.records.slides import Slide


class PostgresTenantModels(Transactions):
    """The API's operations on model versions."""

    def list_models(self, actor: Actor) -> tuple[ModelVersion, ...]:
        with self._transaction(actor.tenant) as cursor:
            found = cursor.execute("SELECT * FROM model_versions")
            return select_usable(rows.read_model_version(row) for row in found)

    def get_model(
        self, actor: Actor, name: str, version: str | None = None, *, digest: str | None = None
    ) -> ModelVersion:
        with self._transaction(actor.tenant) as cursor:
            return rows.read_model_version(_find(cursor, actor.tenant, name, version, digest))

    def find_inputs(
        self, actor: Actor, slide_id: UUID, model: str, version: str | None
    ) -> tuple[Slide, ModelVersion | None]:
        with self._transaction(actor.tenant) as cursor:
            slide = slides.get(cursor, slide_id)
            row = _look_up(cursor, actor.tenant, model, version, None)
            return slide, rows.read_model_version(row) if row is not None else None

    def choose_default(self, actor: Actor, name: str, version: str) -> ModelVersion:
        with self._transaction(actor.tenant) as cursor:
            chosen = rows.read_model_version(_find(cursor, actor.tenant, name, version, None))
            if chosen.owner is None:
                raise make_not_own_model_error(name)
            make_default(cursor, actor.tenant, name, version)
            note(cursor, actor, "model.default", f"{name}@{version}")
            return rows.read_model_version(_find(cursor, actor.tenant, name, version, None))


class PostgresSystemModels(Transactions):
    """The registration of model versions."""

    def register_model(self, model: ModelVersion) -> None:
        with self._transaction() as cursor:
            others = lock_name(cursor, model.owner, model.name)
            known = cursor.execute(
                f"SELECT digest FROM model_versions WHERE {_OF_OWNER} AND version = %(version)s".encode(),
                {"owner": model.owner, "name": model.name, "version": model.version},
            ).fetchone()
            if known is None:
                add(cursor, mark_default(model, asked=model.is_default, others=others))
            elif known["digest"] != model.digest:
                raise make_other_digest_error()


_OF_OWNER = "owner IS NOT DISTINCT FROM %(owner)s AND given_name = %(name)s"


def find_key(cursor: Cursor, tenant: UUID, name: str, version: str, digest: str) -> str:
    """Return the key by which jobs of this tenant name the model version. Raises NotFound."""
    return _find(cursor, tenant, name, version, digest)["name"]


def get_of_job(cursor: Cursor, job_id: UUID) -> ModelVersion:
    """Return the model version that a job names: a foreign key of the job."""
    row = cursor.execute(
        """
        SELECT model_versions.* FROM model_versions
        JOIN jobs ON jobs.model = model_versions.name AND jobs.model_version = model_versions.version
        WHERE jobs.id = %s
        """,
        (job_id,),
    ).fetchone()
    assert row is not None, "the job refers to it"
    return rows.read_model_version(row)


def check_addable(cursor: Cursor, name: str, version: str) -> None:
    """Raise Conflict if the tenant has the version without a registration, or the name is the installation's alone."""
    found = cursor.execute("SELECT version, owner FROM model_versions WHERE given_name = %s", (name,)).fetchall()
    check_name([(row["version"], row["owner"]) for row in found], name, version)


def lock_name(cursor: Cursor, owner: UUID | None, name: str) -> bool:
    """Lock an owner's name of a model and return whether it has versions. The lock keeps two registrations from both
    becoming the default."""
    key = rows.make_model_key(owner, name)
    cursor.execute("INSERT INTO models (name) VALUES (%s) ON CONFLICT DO NOTHING", (key,))
    cursor.execute("SELECT FROM models WHERE name = %s FOR UPDATE", (key,))
    found = cursor.execute(
        f"SELECT FROM model_versions WHERE {_OF_OWNER} LIMIT 1".encode(), {"owner": owner, "name": name}
    )
    return found.fetchone() is not None


def add(cursor: Cursor, model: ModelVersion) -> None:
    """Insert a model version. The caller holds the lock of its name. Raises Conflict if a tenant's version has had the
    key since before models had owners."""
    if model.is_default:
        _take_default_away(cursor, model.owner, model.name)
    key = rows.make_model_key(model.owner, model.name)
    try:
        cursor.execute(
            """
            INSERT INTO model_versions (name, version, digest, card, package_uri, is_default, owner)
            VALUES (%s, %s, %s, %s, %s, %s, %s)
            """,
            (key, model.version, model.digest, Jsonb(model.card), model.package_uri, model.is_default, model.owner),
        )
    except errors.UniqueViolation as error:
        raise make_version_taken_error() from error


def make_default(cursor: Cursor, owner: UUID | None, name: str, version: str) -> None:
    """Make this version the owner's default of the name."""
    values = {"owner": owner, "name": name, "version": version}
    cursor.execute(f"SELECT FROM model_versions WHERE {_OF_OWNER} ORDER BY version FOR UPDATE".encode(), values)
    _take_default_away(cursor, owner, name)
    cursor.execute(
        f"UPDATE model_versions SET is_default = true WHERE {_OF_OWNER} AND version = %(version)s".encode(), values
    )


def _take_default_away(cursor: Cursor, owner: UUID | None, name: str) -> None:
    cursor.execute(
        f"UPDATE model_versions SET is_default = false WHERE {_OF_OWNER} AND is_default".encode(),
        {"owner": owner, "name": name},
    )


def _find(cursor: Cursor, tenant: UUID, name: str, version: str | None, digest: str | None) -> Row:
    row = _look_up(cursor, tenant, name, version, digest)
    if row is None:
        raise make_unknown_model_error()
    return row


def _look_up(cursor: Cursor, tenant: UUID, name: str, version: str | None, digest: str | None) -> Row | None:
    """Return the row that a name and version mean to the tenant: its own before the installation's. The query names the
    tenant, since the system's role sees the models of all."""
    return cursor.execute(
        """
        SELECT * FROM model_versions
        WHERE given_name = %(name)s AND (owner IS NULL OR owner = %(tenant)s)
            AND (%(digest)s::text IS NULL OR digest = %(digest)s)
            AND CASE WHEN %(version)s::text IS NULL THEN is_default ELSE version = %(version)s END
        ORDER BY owner NULLS LAST LIMIT 1
        """,
        {"tenant": tenant, "name": name, "version": version, "digest": digest},
    ).fetchone()
