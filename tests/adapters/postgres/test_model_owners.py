"""Owners of models, tried with plain SQL: what row-level security and triggers hold when the application forgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from adapters.postgres.owner.migrate import migrate
from local.postgres import SUPERUSER
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_registrations import pinned, ready, wanted
from tests.contracts.ledger_world import MODEL, new_job, ready_slide, submit
from tests.postgres import Database, PostgresServer
from wsi.errors import Conflict, NotFound
from wsi.records.models import ModelVersion

SHARED = "s3://models/packages"


@contextmanager
def process(dsn: str, tenant: UUID | None = None) -> Iterator[psycopg.Connection]:
    """A transaction of a process, which is rolled back when a statement fails."""
    with psycopg.connect(dsn) as connection:
        if tenant is not None:
            connection.execute("SELECT tessera.enter(%s)", (tenant,))
        yield connection


def read_key(database: Database, model: ModelVersion) -> str:
    with process(database.system_dsn) as system:
        row = system.execute("SELECT name FROM model_versions WHERE digest = %s", (model.digest,)).fetchone()
    assert row is not None
    return row[0]


def test_another_tenants_models_are_no_rows(world: PostgresWorld, database: Database) -> None:
    ready(world)
    with process(database.api_dsn) as api:
        query = "SELECT relforcerowsecurity FROM pg_class WHERE relname IN ('models', 'model_versions')"
        assert api.execute(query.encode()).fetchall() == [(True,), (True,)]
    installations = [(MODEL.name, MODEL.version)]
    for tenant, seen in ((world.actor.tenant, 2), (world.other.tenant, 1), (None, 1)):
        with process(database.api_dsn, tenant) as api:
            versions = api.execute(
                "SELECT given_name, version FROM model_versions ORDER BY owner NULLS FIRST"
            ).fetchall()
            names = api.execute("SELECT name FROM models").fetchall()
            registrations = api.execute("SELECT count(*) FROM model_registrations").fetchone()
        assert versions[:1] == installations
        assert (len(versions), len(names), registrations) == (seen, seen, (seen - 1,))


def test_a_tenants_process_changes_only_its_own(world: PostgresWorld, database: Database) -> None:
    own = ready(world)
    for tenant, changed in ((world.other.tenant, 0), (world.actor.tenant, 1), (None, 0)):
        with process(database.api_dsn, tenant) as api:
            assert api.execute("UPDATE model_versions SET is_default = false").rowcount == changed
            api.rollback()
    for statement in (
        "UPDATE model_versions SET owner = NULL",
        "UPDATE model_versions SET card = '{}'",
        "DELETE FROM model_versions",
        "INSERT INTO model_versions (name, version, digest, card, is_default) VALUES ('x', '1', '', '{}', true)",
        "INSERT INTO models (name) VALUES ('x')",
    ):
        with pytest.raises(errors.InsufficientPrivilege), process(database.api_dsn, world.actor.tenant) as api:
            api.execute(statement.encode())
    assert world.tenants.get_model(world.actor, "net") == own


def test_a_job_names_a_model_of_its_tenant_or_of_the_installation(world: PostgresWorld, database: Database) -> None:
    model = ready(world)
    key = read_key(database, model)
    theirs = submit(world, new_job(ready_slide(world, actor=world.other)), actor=world.other).job
    ours = submit(world, new_job(ready_slide(world), **pinned(model))).job
    copy = """
        INSERT INTO jobs (id, tenant, slide_id, model, model_version, model_digest, state, priority, options, identity,
            traceparent, created_by)
        SELECT gen_random_uuid(), tenant, slide_id, %s, model_version, model_digest, state, priority, options, identity,
            traceparent, created_by FROM jobs WHERE id = %s
    """
    messages = []
    for wrong in (key, "nothing", f"{world.other.tenant}/net"):
        with pytest.raises(errors.ForeignKeyViolation) as refused, process(database.api_dsn, world.other.tenant) as api:
            api.execute(copy.encode(), (wrong, theirs.id))
        messages.append(refused.value.diag.message_primary)
    assert len(set(messages)) == 1, "no word tells a model of another tenant from none"
    with process(database.api_dsn, world.actor.tenant) as api:
        assert api.execute(copy.encode(), (key, ours.id)).rowcount == 1
    # A process that sees all tenants is held to it too.
    with pytest.raises(errors.ForeignKeyViolation), process(database.system_dsn) as system:
        system.execute("UPDATE jobs SET model = %s WHERE id = %s", (key, theirs.id))
    with process(database.system_dsn) as system:
        assert system.execute("UPDATE jobs SET state = 'PLANNING' WHERE id = %s", (theirs.id,)).rowcount == 1


# --- the release before, whose processes run beside today's


#: What a worker of the last release does when a model has passed, and `get_model` of its functions.
ACCEPT_BEFORE = (
    "UPDATE model_registrations SET state = 'READY' WHERE id = %(id)s",
    "INSERT INTO models (name) VALUES (%(name)s) ON CONFLICT DO NOTHING",
    "SELECT FROM models WHERE name = %(name)s FOR UPDATE",
    """
    INSERT INTO model_versions (name, version, digest, card, package_uri, is_default)
    VALUES (%(name)s, %(version)s, %(digest)s, '{}', %(uri)s, %(default)s)
    """,
)
GET_BEFORE = "SELECT name, digest FROM model_versions WHERE name = %s AND version = %s"


def accept_as_before(database: Database, id_: UUID, name: str, *, version: str, digest: str, default: bool) -> None:
    with process(database.system_dsn) as system:
        uri = f"{SHARED}/{id_}/"
        for statement in ACCEPT_BEFORE:
            values = {"id": id_, "name": name, "version": version, "digest": digest, "uri": uri, "default": default}
            system.execute(statement.encode(), values)


def test_a_model_that_a_worker_of_the_last_release_accepts_belongs_to_who_added_it(
    world: PostgresWorld, database: Database
) -> None:
    ready(world, actor=world.other, digest="f")  # of the same name and version
    for version, default in (("1", True), ("2", False)):
        opened, _ = world.tenants.open_registration(world.actor, wanted(version))
        assert world.tenants.complete_registration(world.actor, opened.id)
        accept_as_before(database, opened.id, "net", version=version, digest=version * 64, default=default)
    model = world.tenants.get_model(world.actor, "net")
    assert (model.version, model.owner, model.digest) == ("1", world.actor.tenant, "1" * 64)
    assert world.tenants.get_model(world.other, "net").digest == "f" * 64
    assert [one.name for one in world.tenants.list_models(world.other)] == ["net", MODEL.name]
    # A planner of that release finds what the job names.
    job = submit(world, new_job(ready_slide(world), **pinned(model))).job
    with process(database.system_dsn) as system:
        row = system.execute("SELECT model, model_version FROM jobs WHERE id = %s", (job.id,)).fetchone()
        assert row is not None
        assert system.execute(GET_BEFORE, row).fetchone() == (row[0], model.digest)


@pytest.fixture
def before(postgres: PostgresServer) -> tuple[Database, dict[str, UUID]]:
    """A database of before models had owners: "shared" is the installation's, "net" has versions of two tenants and of
    the installation, whose first one is the default of all."""
    owner = postgres.empty_database()
    migrate(owner, "0018")
    database = Database(str(conninfo_to_dict(owner)["dbname"]), postgres.server)
    tenants = {"one": uuid4(), "two": uuid4()}
    with psycopg.connect(database.server.make_dsn(SUPERUSER, database.name)) as connection:
        for name, tenant in tenants.items():
            connection.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", (tenant, name))
        connection.execute("INSERT INTO models (name) VALUES ('net'), ('shared'), ('mine')")
        for name, version, tenant, default in (
            ("shared", "1", None, True),
            ("net", "1", tenants["one"], True),
            ("net", "2", tenants["two"], False),
            ("net", "3", tenants["two"], False),
            ("net", "4", None, False),
            ("mine", "1", tenants["two"], True),
        ):
            id_ = uuid4()
            connection.execute(
                """
                INSERT INTO model_versions (name, version, digest, card, package_uri, is_default, created_at)
                VALUES (%s, %s, %s, '{}', %s, %s, now() + %s * interval '1 second')
                """,
                (name, version, f"{name}-{version}", f"{SHARED}/{id_}/", default, int(version)),
            )
            if tenant is not None:
                connection.execute(
                    """
                    INSERT INTO model_registrations
                        (id, tenant, name, version, state, files, becomes_default, created_by)
                    VALUES (%s, %s, %s, %s, 'READY', '[]', false, 'user:x')
                    """,
                    (id_, tenant, name, version),
                )
    migrate(owner)
    return database, tenants


def test_versions_of_before_belong_to_who_added_them(before: tuple[Database, dict[str, UUID]]) -> None:
    database, tenants = before
    query = "SELECT owner, given_name, version, is_default FROM model_versions ORDER BY given_name, version"
    with process(database.system_dsn) as system:
        assert system.execute(query.encode()).fetchall() == [
            (tenants["two"], "mine", "1", True),
            (tenants["one"], "net", "1", True),
            (tenants["two"], "net", "2", False),
            (tenants["two"], "net", "3", True),  # the newest, where the default was another owner's
            (None, "net", "4", True),
            (None, "shared", "1", True),
        ]
    seen = {"one": ["net 1", "net 4", "shared 1"], "two": ["mine 1", "net 2", "net 3", "net 4", "shared 1"]}
    for name, expected in seen.items():
        with process(database.api_dsn, tenants[name]) as api:
            rows = api.execute(query.encode()).fetchall()
        assert [f"{given} {version}" for _, given, version, _ in rows] == expected
    with process(database.api_dsn) as api:  # a function of the last release, until all are replaced
        assert api.execute(GET_BEFORE, ("mine", "1")).fetchone() == ("mine", "mine-1")
    with psycopg.connect(database.server.make_dsn("tessera_owner", database.name)) as owner:
        assert owner.execute("SELECT count(*) FROM model_registrations").fetchone() == (0,), "forced again"


def test_functions_of_the_last_release_see_no_model_that_is_added_today(
    world: PostgresWorld, database: Database
) -> None:
    key = read_key(database, ready(world))
    with process(database.api_dsn) as api:
        assert api.execute(GET_BEFORE, (key, "1")).fetchone() is None


# --- the operator


def test_a_shared_model_is_everybodys_and_its_jobs_go_on(world: PostgresWorld) -> None:
    first, second = ready(world), ready(world, wanted("2"), digest="f")
    job = submit(world, new_job(ready_slide(world), **pinned(first))).job
    world.administration.share_model("one", "net", "1")
    shared = world.tenants.get_model(world.other, "net")
    assert (shared.version, shared.owner, shared.is_default) == ("1", None, True)
    assert world.tenants.get_model(world.actor, "net") == replace(second, is_default=True)
    brief = world.system.begin_planning(job.id)
    assert brief is not None
    assert brief.model.digest == first.digest
    listed = [(one.tenant, one.name, one.version) for one in world.administration.list_models()]
    assert listed == [(None, "net", "1"), (None, MODEL.name, MODEL.version), ("one", "net", "2")]
    assert ("owner", "model.share", "net@1") in world.audit_lines(world.actor)
    with pytest.raises(NotFound):
        world.administration.share_model("one", "net", "1")
    ready(world, actor=world.other, asked=wanted("1", name="other"))
    world.system.register_model(ModelVersion(name="other", version="1", digest="", card={}, package_uri=None))
    with pytest.raises(Conflict, match="already"):
        world.administration.share_model("two", "other", "1")


def test_the_operator_chooses_among_the_installations_versions(world: PostgresWorld) -> None:
    newer = ModelVersion(name=MODEL.name, version="2", digest="2" * 64, card={}, package_uri=None, is_default=False)
    world.administration.register_model(newer)
    assert world.tenants.get_model(world.actor, MODEL.name).version == "1"
    world.administration.choose_default_model(MODEL.name, "2")
    assert world.tenants.get_model(world.actor, MODEL.name).version == "2"
    ready(world)
    with pytest.raises(NotFound):
        world.administration.choose_default_model("net", "1")


def test_the_operator_registers_a_model_for_one_tenant(world: PostgresWorld) -> None:
    model = ModelVersion(name="net", version="1", digest="2" * 64, card={}, package_uri="s3://models/x/")
    world.administration.register_model(model, tenant="two")
    assert world.tenants.get_model(world.other, "net").owner == world.other.tenant
    with pytest.raises(NotFound):
        world.tenants.get_model(world.actor, "net")
    assert ("owner", "model.register", "net@1") in world.audit_lines(world.other)
