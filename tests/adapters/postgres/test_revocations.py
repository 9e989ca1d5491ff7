"""Whoever loses access is named in the outbox by the transaction that takes it away, however that is done."""

from __future__ import annotations

import psycopg
import pytest

from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.seeding import SeedKey, SeedTenant, SeedUser, split_key
from adapters.postgres.system_ledger import PostgresSystemLedger
from local.postgres import OWNER
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import EMAIL, ISSUER, KEY_NAME, KEY_PREFIX, KEY_SECRET, SUBJECT
from tests.postgres import Database
from wsi.records.identity import Role
from wsi.records.notices import REVOCATION

KEY = f"tsk_{KEY_PREFIX}_{KEY_SECRET}"


@pytest.fixture
def owner(database: Database) -> Administration:
    return Administration(lambda: database.server.make_dsn(OWNER, database.name))


def revoked(world: PostgresWorld) -> set[tuple[str, str]]:
    """(tenant, subject) of all revocations that were written; each is written twice."""
    rows = [(body["tenant"], body["subject"]) for topic, body in world.outbox() if topic == REVOCATION]
    assert len(rows) == 2 * len(set(rows))
    return set(rows)


def key_of(world: PostgresWorld) -> str:
    actor = world.identities.find_api_key(*split_key(KEY))
    assert actor is not None
    return actor.subject


def as_owner(database: Database, statement: str) -> None:
    with psycopg.connect(database.server.make_dsn(OWNER, database.name)) as connection:
        connection.execute(statement.encode())


def test_a_disabled_person_and_a_revoked_key_are_announced_once(world: PostgresWorld, owner: Administration) -> None:
    tenant, person, key = str(world.actor.tenant), world.actor.subject, key_of(world)
    for _ in range(2):
        owner.disable_user(ISSUER, SUBJECT)
        owner.revoke_key("one", KEY_NAME)
    assert revoked(world) == {(tenant, person), (tenant, key)}


def test_another_role_is_announced_and_the_same_role_is_not(
    world: PostgresWorld, owner: Administration, database: Database
) -> None:
    same = SeedUser(issuer=ISSUER, subject=SUBJECT, role=Role.ANALYST, email="new@example.org")
    owner.add_user("one", same)
    database.seed(tenants=[SeedTenant(name="one", keys=(SeedKey(key=KEY, role=Role.ANALYST, name=KEY_NAME),))])
    assert revoked(world) == set()
    owner.add_user("one", SeedUser(issuer=ISSUER, subject=SUBJECT, role=Role.VIEWER, email=EMAIL))
    database.seed(tenants=[SeedTenant(name="one", keys=(SeedKey(key=KEY, role=Role.VIEWER, name=KEY_NAME),))])
    tenant = str(world.actor.tenant)
    assert revoked(world) == {(tenant, world.actor.subject), (tenant, key_of(world))}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE users SET tenant = (SELECT id FROM tenants WHERE name = 'two') WHERE subject = '{subject}'",
        "UPDATE users SET subject = 'somebody else' WHERE subject = '{subject}'",
        "DELETE FROM users WHERE subject = '{subject}'",
    ],
    ids=["transferred", "renamed", "deleted"],
)
def test_plain_sql_is_announced_to_the_tenant_that_the_person_leaves(
    world: PostgresWorld, database: Database, statement: str
) -> None:
    as_owner(database, statement.format(subject=SUBJECT))
    assert revoked(world) == {(str(world.actor.tenant), world.actor.subject)}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE api_keys SET secret_sha256 = repeat('0', 64)",
        "UPDATE api_keys SET revoked_at = now()",
        "DELETE FROM api_keys",
    ],
    ids=["rotated", "revoked", "deleted"],
)
def test_plain_sql_on_keys_is_announced(world: PostgresWorld, database: Database, statement: str) -> None:
    key = key_of(world)
    as_owner(database, statement)
    assert revoked(world) == {(str(world.actor.tenant), key)}


def test_a_change_that_is_undone_announces_nothing(world: PostgresWorld, database: Database) -> None:
    with psycopg.connect(database.server.make_dsn(OWNER, database.name)) as connection:
        connection.execute("UPDATE users SET disabled_at = now() WHERE role <> 'admin'")
        connection.rollback()
    assert revoked(world) == set()


def test_somebody_who_is_enabled_again_and_a_new_person_end_nothing(
    world: PostgresWorld, owner: Administration, database: Database
) -> None:
    owner.disable_user(ISSUER, SUBJECT)
    before = revoked(world)
    owner.add_user("one", SeedUser(issuer=ISSUER, subject=SUBJECT, role=Role.ADMIN))
    owner.add_user("one", SeedUser(issuer=ISSUER, subject="new", role=Role.ADMIN))
    assert revoked(world) == before


def test_the_second_announcement_waits_for_subscriptions_that_begin_in_the_same_moment(
    world: PostgresWorld, owner: Administration, database: Database
) -> None:
    owner.disable_user(ISSUER, SUBJECT)
    ledger = PostgresSystemLedger(world.worker)
    [at_once] = ledger.claim_outbox(limit=10, seconds=30)
    assert (at_once.topic, at_once.body["subject"]) == (REVOCATION, world.actor.subject)
    ledger.mark_sent([at_once.id])
    database.pass_time(6)
    [later] = ledger.claim_outbox(limit=10, seconds=30)
    assert (later.body, later.id != at_once.id) == (at_once.body, True)


def test_neither_api_nor_workers_announce_anything_themselves(database: Database, world: PostgresWorld) -> None:
    for dsn in (database.api_dsn, database.system_dsn):
        with psycopg.connect(dsn) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT tessera.announce_revocation(%s, '*')", (world.actor.tenant,))


def test_the_owner_writes_nothing_else_into_the_outbox(database: Database, world: PostgresWorld) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_owner(
            database,
            "INSERT INTO outbox (tenant, topic, body, traceparent)"
            f" VALUES ('{world.actor.tenant}', 'push', '{{}}', '')",
        )


def test_a_revocation_for_a_later_time_waits_for_it_and_is_no_old_row_meanwhile(
    world: PostgresWorld, database: Database
) -> None:
    as_owner(
        database,
        f"SELECT tessera.announce_revocation('{world.actor.tenant}', 'key:1', now() + interval '1 hour')",
    )
    ledger = PostgresSystemLedger(world.worker)
    assert ledger.claim_outbox(limit=10, seconds=30) == ()
    assert ledger.measure_vitals(seconds=60, stalled_seconds=60).outbox_seconds == 0
    database.pass_time(3_610)
    assert [row.body["subject"] for row in ledger.claim_outbox(limit=10, seconds=30)] == ["key:1"] * 2
    assert 5 < ledger.measure_vitals(seconds=60, stalled_seconds=60).outbox_seconds < 60
