from __future__ import annotations

import re
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

import adapters.migrations.versions
from adapters.postgres.owner.migrate import migrate
from adapters.postgres.owner.seeding import SeedKey, SeedTenant, SeedUser, split_key
from tests.contracts.ledger_world import MODEL
from tests.postgres import Database, PostgresServer
from wsi.records.identity import Role
from wsi.records.jobs import Priority
from wsi.records.slides import RestoreTier
from wsi.states import JobState, ShardState, SlideState


def test_two_runners_on_an_empty_database_take_turns(postgres: PostgresServer) -> None:
    owner = postgres.empty_database()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(migrate, [owner, owner]))
    migrate(owner)


def test_a_migration_does_not_wait_long_for_a_lock(postgres: PostgresServer) -> None:
    """All queries would stand behind it (F-52)."""
    owner = postgres.empty_database()
    migrate(owner, "0005")
    with psycopg.connect(owner) as other:
        other.execute("LOCK TABLE jobs IN ACCESS SHARE MODE")
        began = time.monotonic()
        with pytest.raises(OperationalError, match="lock timeout"):
            migrate(owner, "0006")
        assert time.monotonic() - began < 10
    assert migrate(owner, "0006") == "0006"


def test_there_is_no_way_back() -> None:
    revisions = [entry for entry in files(adapters.migrations.versions).iterdir() if entry.name.startswith("r")]
    assert revisions
    for revision in revisions:
        assert "def downgrade" not in revision.read_text()


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("slides", "state", SlideState),
        ("slides", "restore_tier", RestoreTier),
        ("jobs", "state", JobState),
        ("shards", "state", ShardState),
        ("jobs", "priority", Priority),
        ("users", "role", Role),
        ("api_keys", "role", Role),
    ],
)
def test_columns_take_exactly_the_values_of_the_domain(
    database: Database, table: str, column: str, values: Iterable[str]
) -> None:
    with psycopg.connect(database.api_dsn) as connection:
        found = connection.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", (f"{table}_{column}_check",)
        ).fetchone()
    assert found
    assert set(re.findall(r"'([^']*)'", found[0])) == set(values)


def test_seeding_twice_changes_nothing_but_roles(database: Database) -> None:
    def tenant(role: Role) -> SeedTenant:
        return SeedTenant(
            name="one",
            users=(SeedUser(issuer="i", subject="s", role=role),),
            keys=(SeedKey(key="tsk_abc_secret", role=role),),
        )

    first = database.seed(tenants=[tenant(Role.VIEWER)], models=[MODEL])
    again = database.seed(tenants=[tenant(Role.ADMIN)], models=[MODEL])
    assert first == again
    prefix, secret_sha256 = split_key("tsk_abc_secret")
    with psycopg.connect(database.api_dsn) as connection:
        for query, parameters in (
            ("SELECT tenant, role FROM tessera.identify_user(%s, %s)", ("i", "s")),
            ("SELECT tenant, role FROM tessera.identify_api_key(%s, %s)", (prefix, secret_sha256)),
        ):
            assert connection.execute(query, parameters).fetchall() == [(first["one"], "admin")]


@pytest.mark.parametrize("key", ["", "abc", "tsk_abc", "tsk__secret", "tsk_a b_secret"])
def test_malformed_key_is_not_seeded(key: str) -> None:
    with pytest.raises(ValueError, match="tsk_"):
        split_key(key)


def test_a_revision_does_not_change_with_the_code() -> None:
    for entry in files(adapters.migrations.versions).iterdir():
        if entry.name.startswith("r"):
            assert not re.search(r"^(from|import) (wsi|adapters)", entry.read_text(), re.MULTILINE), entry.name
