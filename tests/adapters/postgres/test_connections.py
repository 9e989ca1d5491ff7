from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest

from adapters.postgres.connections import PREPARED_AFTER, RECYCLE_SECONDS, Connections, make_token_source
from local.postgres import SUPERUSER
from tests.postgres import Database
from wsi.errors import LedgerUnavailable


@pytest.fixture
def connections(database: Database) -> Iterator[Connections]:
    connections = Connections(database.api_dsn)
    yield connections
    connections.close()


def backend(connections: Connections) -> int:
    with connections.begin_transaction() as cursor:
        row = cursor.execute("SELECT pg_backend_pid() AS pid").fetchone()
        assert row
        return row["pid"]


def test_a_thread_keeps_its_connection_and_shares_it_with_none(connections: Connections) -> None:
    mine = backend(connections)
    assert backend(connections) == mine
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(backend, connections).result() != mine


def test_connections_of_ended_threads_are_closed(connections: Connections, database: Database) -> None:
    for _ in range(5):
        thread = threading.Thread(target=backend, args=(connections,))
        thread.start()
        thread.join()
    with connections.begin_transaction() as cursor:
        found = cursor.execute(
            "SELECT count(*) AS open FROM pg_stat_activity WHERE datname = %s AND usename = 'tessera_api'",
            (database.name,),
        ).fetchone()
    assert found
    assert found["open"] <= 2  # this thread's, and the last one's while its server process goes down


def test_a_connection_that_the_server_closed_is_replaced(connections: Connections, database: Database) -> None:
    lost = backend(connections)
    with psycopg.connect(database.api_dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (lost,))
    assert backend(connections) != lost


def test_a_connection_lost_inside_a_transaction_is_an_error_once(connections: Connections) -> None:
    with pytest.raises(LedgerUnavailable), connections.begin_transaction() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    backend(connections)


def test_an_old_connection_is_replaced(database: Database) -> None:
    connections = Connections(database.api_dsn, recycle_seconds=0)
    assert backend(connections) != backend(connections)
    connections.close()
    assert 300 <= RECYCLE_SECONDS < 15 * 60, "as long as an IAM token lives"


def test_a_statement_that_comes_again_is_prepared_where_no_proxy_is(database: Database) -> None:
    for prepares in (False, True):
        connections = Connections(database.api_dsn, prepares=prepares)
        for _ in range(PREPARED_AFTER + 1):
            backend(connections)
        with connections.begin_transaction() as cursor:
            kept = cursor.execute("SELECT statement FROM pg_prepared_statements").fetchall()
        assert any("pg_backend_pid" in row["statement"] for row in kept) is prepares
        connections.close()


def test_a_migration_under_a_kept_plan_is_an_error_that_passes(database: Database) -> None:
    """The server refuses a plan whose result has another column now ("cached plan must not change result type")."""
    with psycopg.connect(database.server.make_dsn(SUPERUSER, database.name), autocommit=True) as owner:
        owner.execute("CREATE TABLE migrated (a integer)")
        owner.execute("GRANT SELECT ON migrated TO tessera_api")
        connections = Connections(database.api_dsn, prepares=True)

        def read() -> list[dict[str, object]]:
            with connections.begin_transaction() as cursor:
                return cursor.execute("SELECT * FROM migrated").fetchall()

        for _ in range(PREPARED_AFTER + 1):
            read()
        owner.execute("ALTER TABLE migrated ADD COLUMN b integer")
        with pytest.raises(LedgerUnavailable, match="schema has just changed"):
            read()
        assert read() == []
        owner.execute("DROP TABLE migrated")
        connections.close()


def test_an_exception_rolls_back_and_the_tenant_ends_with_its_transaction(connections: Connections) -> None:
    tenant = uuid4()

    def fail() -> None:
        with connections.begin_transaction(tenant) as cursor:
            assert cursor.execute("SELECT tessera.tenant() AS tenant").fetchone() == {"tenant": tenant}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with connections.begin_transaction() as cursor:
        assert cursor.execute("SELECT tessera.tenant() AS tenant").fetchone() == {"tenant": None}


@pytest.mark.parametrize("role", ["api", "system"])
def test_timeouts_come_with_the_role(database: Database, role: str) -> None:
    connections = Connections(database.api_dsn if role == "api" else database.system_dsn)
    with connections.begin_transaction() as cursor:
        for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            row = cursor.execute("SELECT current_setting(%s) AS value", (setting,)).fetchone()
            assert row
            assert row["value"] not in ("0", "")
    connections.close()


def test_iam_token_is_signed_for_host_port_and_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    token = make_token_source("postgresql://tessera_api@db.example:6432/tessera", "eu-central-1")()
    assert token.startswith("db.example:6432/")
    assert "DBUser=tessera_api" in token
    assert "X-Amz-Signature=" in token
