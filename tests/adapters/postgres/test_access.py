"""What the roles may not do, tried with plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg import errors

from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import completed_job, queued_job, ready_slide, running_job
from tests.postgres import Database
from wsi.sources.source import Source

TENANT_TABLES = (
    *("slides", "slide_files", "jobs", "idempotency_keys", "shards", "job_events", "results"),
    *("outbox", "deliveries", "webhook_secrets", "audit_log", "usage", "quotas", "sources"),
)


@pytest.fixture
def api(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def system(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.system_dsn, autocommit=True) as connection:
        yield connection


def test_jobs_are_counted_over_all_tenants_by_a_process_that_sees_no_row(
    world: PostgresWorld, api: psycopg.Connection, database: Database
) -> None:
    running_job(world, (10, 5))
    later = running_job(world, (3,))
    counted = api.execute("SELECT jobs_ahead, tiles_ahead FROM tessera.measure_queue(%s, 90, 1000)", (later.id,))
    assert counted.fetchone() == (1, 15)
    with psycopg.connect(database.server.make_dsn("tessera_owner", database.name)) as owner:
        for _ in range(2):  # before and after it counts
            assert owner.execute("SELECT count(*) FROM jobs").fetchone() == (0,)
            assert owner.execute("SELECT count(*) FROM shards").fetchone() == (0,)
            owner.execute("SELECT tessera.measure_queue(%s, 90, 1000)", (later.id,))


@pytest.mark.parametrize("table", [table for table in TENANT_TABLES if table != "outbox"])
def test_without_a_tenant_no_row_exists(world: PostgresWorld, api: psycopg.Connection, table: str) -> None:
    completed_job(world)
    running_job(world)
    assert api.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


def test_rows_of_another_tenant_can_be_neither_written_nor_changed(
    world: PostgresWorld, api: psycopg.Connection
) -> None:
    ready_slide(world)
    with api.transaction():
        api.execute("SELECT tessera.enter(%s)", (world.other.tenant,))
        assert api.execute("UPDATE slides SET name = 'x'").rowcount == 0
        assert api.execute("SELECT count(*) FROM slide_files").fetchone() == (0,)

    def as_tenant(tenant: UUID, statement: str) -> None:
        with api.transaction():
            api.execute("SELECT tessera.enter(%s)", (tenant,))
            api.execute(statement.encode())

    ours, theirs = world.actor.tenant, world.other.tenant
    with pytest.raises(errors.InsufficientPrivilege):
        as_tenant(
            theirs,
            f"INSERT INTO slides (id, tenant, name, state, created_by) VALUES ('{ours}', '{ours}', '', 'DELETED', '')",
        )
    with pytest.raises(errors.InsufficientPrivilege):
        as_tenant(ours, f"UPDATE slides SET tenant = '{theirs}'")


def test_every_table_with_a_tenant_or_an_owner_forces_row_security(api: psycopg.Connection) -> None:
    unforced = api.execute(
        """
        SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname IN ('tenant', 'owner')
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity)
        """
    ).fetchall()
    assert unforced == []


@pytest.mark.parametrize("table", ["users", "api_keys", "tenants", "alembic_version"])
def test_people_and_key_hashes_are_closed_to_processes(
    world: PostgresWorld, api: psycopg.Connection, system: psycopg.Connection, table: str
) -> None:
    for connection in (api, system):
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(f"SELECT * FROM {table}".encode())


def test_api_reads_no_outbox_and_plans_no_shards(world: PostgresWorld, api: psycopg.Connection) -> None:
    for statement in (b"SELECT * FROM outbox", b"DELETE FROM jobs", b"INSERT INTO shards DEFAULT VALUES"):
        with pytest.raises(errors.InsufficientPrivilege):
            api.execute(statement)


@pytest.mark.parametrize("table", ["job_events", "audit_log"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET detail = '{{}}'", "DELETE FROM {}", "TRUNCATE {}"])
def test_history_can_not_be_rewritten(
    world: PostgresWorld, api: psycopg.Connection, system: psycopg.Connection, table: str, statement: str
) -> None:
    queued_job(world)
    for connection in (api, system):
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(statement.format(table).encode())
    # Not even for who may everything: a trigger stands behind the missing grant.
    guarded = api.execute(
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = 'append_only' AND tgenabled = 'O'",
        (table,),
    ).fetchone()
    assert guarded == (1,)


def test_no_process_is_more_than_it_should_be(api: psycopg.Connection) -> None:
    found = api.execute(
        """
        SELECT rolname FROM pg_roles WHERE rolname LIKE 'tessera%' AND (rolsuper OR rolbypassrls OR rolcreatedb)
        """
    ).fetchall()
    assert found == []
    assert api.execute("SELECT rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)


def test_nothing_pins_a_session_of_the_proxy(database: Database) -> None:
    database.log_statements()
    world = PostgresWorld(database)
    completed_job(world)
    running_job(world, [100] * 3000)
    world.system.sweep(upload_days=1, stuck_seconds=1, give_up_seconds=86_400)
    world.system.mark_sent([row.id for row in world.system.claim_outbox(limit=10, seconds=1)])
    world.close()
    statements = database.statements()
    assert len(statements) > 50
    for statement in statements:
        kind, _, text = statement.partition(": ")
        assert kind in ("statement", "execute <unnamed>"), statement  # a named one would be a prepared statement
        assert not text.lstrip().upper().startswith(("SET ", "PREPARE ", "LISTEN ", "DISCARD ")), statement
    entered = [text for text in statements if "tessera.enter" in text]
    assert entered


def test_the_api_can_neither_change_sources_nor_get_around_them(
    world: PostgresWorld, api: psycopg.Connection, system: psycopg.Connection
) -> None:
    world.set_sources(world.actor, Source("lab-slides", "labs/a/"))
    slide = ready_slide(world)
    tenant = world.actor.tenant
    for role in (api, system):
        for statement in (
            f"INSERT INTO sources VALUES ('{tenant}', 'other-slides', '')",
            "UPDATE sources SET prefix = ''",
            "DELETE FROM sources",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                role.execute(statement.encode())

    def as_tenant(statement: str) -> None:
        with api.transaction():
            api.execute("SELECT tessera.enter(%s)", (tenant,))
            api.execute(statement.encode())

    def insert(uri: str, position: int) -> None:
        as_tenant(
            "INSERT INTO slide_files (slide_id, tenant, position, name, uri, size, upload_id)"
            f" VALUES ('{slide.id}', '{tenant}', {position}, 'x', '{uri}', 1, 'an upload')"
        )

    insert("s3://lab-slides/labs/a/x.dat", 7)
    for uri in ("s3://lab-slides/labs/ab/x.dat", "s3://tessera-slides/of-another/slides/x/00000"):
        with pytest.raises(errors.InsufficientPrivilege) as refusal:
            insert(uri, 8)
        assert refusal.value.diag.constraint_name == "within_sources"
        with pytest.raises(errors.InsufficientPrivilege):
            as_tenant(f"UPDATE slide_files SET uri = '{uri}' WHERE position = 7")
    as_tenant("UPDATE slide_files SET etag = 'e' WHERE position = 7")
