"""Real Postgres for tests: one server a session, one database a test, cloned from a migrated template.

Set-up connects as the owner (to migrate and to seed) and as the superuser (to clone, and to let time pass). Tests get
the DSNs of the roles that processes have, and no other.
"""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from adapters.postgres.owner.migrate import migrate
from adapters.postgres.owner.seeding import SeedTenant, seed
from adapters.settings.database_roles import OWNER
from local.postgres import SUPERUSER, EmbeddedPostgres
from wsi.records.models import ModelVersion

_TEMPLATE = "tessera_template"
_MEMORY = Path("/dev/shm")
_PLENTY = 2**32  #: bytes


@dataclass
class Database:
    """A migrated, empty database."""

    name: str
    server: EmbeddedPostgres

    @property
    def api_dsn(self) -> str:
        return self.server.make_dsn("tessera_api", self.name)

    @property
    def system_dsn(self) -> str:
        return self.server.make_dsn("tessera_system", self.name)

    def seed(self, *, tenants: Iterable[SeedTenant] = (), models: Iterable[ModelVersion] = ()) -> dict[str, UUID]:
        return seed(self.server.make_dsn(OWNER, self.name), tenants=tenants, models=models)

    def pass_time(self, seconds: float) -> None:
        """Makes everything `seconds` older: what a clock is to the memory ledger."""
        with psycopg.connect(self.server.make_dsn(SUPERUSER, self.name)) as connection:
            connection.execute("SET session_replication_role = replica")  # history refuses updates otherwise
            columns = connection.execute(
                """
                SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
                WHERE table_schema = 'public' AND data_type = 'timestamp with time zone' GROUP BY table_name
                """
            ).fetchall()
            for table, names in columns:
                moved = ", ".join(f"{name} = {name} - make_interval(secs => {seconds})" for name in names)
                connection.execute(f"UPDATE {table} SET {moved}".encode())
            if days := int(seconds / 86_400):
                dated = connection.execute(
                    "SELECT table_name FROM information_schema.columns"
                    " WHERE table_schema = 'public' AND data_type = 'date' AND column_name = 'day'"
                ).fetchall()
                for (table,) in dated:
                    connection.execute(f"UPDATE {table} SET day = day - {days}".encode())

    def log_statements(self) -> None:
        """Every statement of connections made from now on appears in `statements`."""
        with psycopg.connect(self.server.make_dsn(SUPERUSER, self.name)) as connection:
            connection.execute(f"ALTER DATABASE {self.name} SET log_statement = 'all'".encode())

    def statements(self) -> list[str]:
        """What the server logged of the roles of processes, oldest first."""
        mark = re.compile(rf",tessera_(?:api|system)@{self.name},\d+:LOG:\s+(.*)")
        return [found[1] for line in self.server.log.read_text().splitlines() if (found := mark.search(line))]


@dataclass
class PostgresServer:
    server: EmbeddedPostgres
    superuser: psycopg.Connection  #: kept for all tests, each of which would connect twice
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def empty_database(self) -> str:
        """The owner's dsn of a database without any table."""
        return self.server.create_database(f"empty_{next(self._numbers)}")

    def clone(self) -> Database:
        database = Database(f"test_{next(self._numbers)}", self.server)
        copied = f"TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY"
        self.superuser.execute(f"CREATE DATABASE {database.name} {copied} OWNER {OWNER}".encode())
        return database

    def drop(self, database: Database) -> None:
        self.superuser.execute(f"DROP DATABASE {database.name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    # Not below pytest's own folder: that one is closed to `nobody`, as whom Postgres runs when root runs the tests.
    # In memory where there is plenty: each test's database is a copy of 8 MB in 300 files.
    is_roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _PLENTY
    with tempfile.TemporaryDirectory(prefix="tessera-postgres-", dir=_MEMORY if is_roomy else None) as folder:
        server = EmbeddedPostgres(Path(folder), durable=False)
        server.start()
        try:
            migrate(server.create_database(_TEMPLATE))
            with psycopg.connect(server.make_dsn(SUPERUSER, "postgres"), autocommit=True) as superuser:
                yield PostgresServer(server, superuser)
        finally:
            server.stop()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    database = postgres.clone()
    yield database
    postgres.drop(database)
