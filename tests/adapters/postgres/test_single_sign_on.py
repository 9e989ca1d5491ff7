"""People whom single sign-on brings: added, changed and refused by SQL, under the claims of a verified token."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from adapters.postgres.owner.administration import Administration
from local.postgres import OWNER
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import ISSUER, SUBJECT
from tests.postgres import Database
from wsi.records.identity import Actor, Membership, Role
from wsi.records.notices import REVOCATION

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def says(role: Role, *, tenant: str = "one", after: int = 0, email: str | None = "ada@one.example") -> Membership:
    return Membership(tenant=tenant, role=role, email=email, issued_at=NOON + timedelta(seconds=after))


def admit(world: PostgresWorld, membership: Membership, subject: str = "ada", issuer: str = ISSUER) -> Actor | None:
    return world.identities.admit_member(issuer, subject, membership)


def admitted(world: PostgresWorld, membership: Membership, subject: str = "ada") -> Actor:
    actor = admit(world, membership, subject)
    assert actor is not None
    return actor


def sign_on_lines(world: PostgresWorld) -> list[tuple[str, str, str]]:
    return [line for line in world.audit_lines(world.actor) if line[1] == "user.sign_on"]


def test_a_new_person_is_added_once_with_the_role_of_the_token(world: PostgresWorld) -> None:
    first, again = admitted(world, says(Role.ANALYST)), admitted(world, says(Role.ANALYST, after=60))
    assert first == again == world.identities.find_user(ISSUER, "ada")
    assert (first.tenant, first.role) == (world.actor.tenant, Role.ANALYST)
    assert sign_on_lines(world) == [("sign-on", "user.sign_on", first.subject)]


def test_another_role_holds_from_the_next_token_on_and_ends_subscriptions(world: PostgresWorld) -> None:
    person = admitted(world, says(Role.ANALYST))
    assert admitted(world, says(Role.VIEWER, after=60)).role is Role.VIEWER
    assert sign_on_lines(world) == [("sign-on", "user.sign_on", person.subject)] * 2
    ended = {body["subject"] for topic, body in world.outbox() if topic == REVOCATION}
    assert ended == {person.subject}


def test_an_older_token_that_is_still_valid_takes_no_role_back(world: PostgresWorld) -> None:
    admitted(world, says(Role.ANALYST))
    admitted(world, says(Role.VIEWER, after=60))
    admitted(world, says(Role.VIEWER, after=600))
    for after in (0, 300):
        assert admitted(world, says(Role.ANALYST, after=after)).role is Role.VIEWER
    assert len(sign_on_lines(world)) == 2


def test_a_token_takes_the_role_of_the_last_admin_from_nobody(world: PostgresWorld) -> None:
    person = admitted(world, says(Role.ADMIN))
    assert admitted(world, says(Role.VIEWER, after=60)) == person
    world.add_admin(world.actor, "boss@hospital.example")
    assert admitted(world, says(Role.VIEWER, after=90)).role is Role.VIEWER


def test_a_disabled_person_stays_out_whatever_the_token_says(world: PostgresWorld, database: Database) -> None:
    admitted(world, says(Role.VIEWER))
    owner = Administration(lambda: database.server.make_dsn(OWNER, database.name))
    owner.disable_user(ISSUER, "ada")
    assert admit(world, says(Role.ADMIN, after=60)) is None
    assert world.identities.find_user(ISSUER, "ada") is None


def test_nobody_is_moved_to_another_tenant_and_none_is_made(world: PostgresWorld) -> None:
    person = admitted(world, says(Role.VIEWER))
    assert admit(world, says(Role.ADMIN, tenant="two", after=60)) is None
    assert admit(world, says(Role.ADMIN, tenant="three", after=60)) is None
    assert admit(world, says(Role.ADMIN, tenant="three"), subject="new") is None
    assert world.identities.find_user(ISSUER, "ada") == person
    assert world.identities.find_user(ISSUER, "new") is None


def test_the_same_subject_of_another_issuer_is_another_person(world: PostgresWorld) -> None:
    other = admit(world, says(Role.ADMIN), subject=SUBJECT, issuer="https://other.example")
    assert other is not None
    assert other.subject != world.actor.subject
    assert world.identities.find_user(ISSUER, SUBJECT) == world.actor


def test_a_person_whom_an_operator_added_follows_the_provider_from_then_on(world: PostgresWorld) -> None:
    assert admitted(world, says(Role.VIEWER), SUBJECT).subject == world.actor.subject
    found = world.identities.find_user(ISSUER, SUBJECT)
    assert found is not None
    assert found.role is Role.VIEWER


def test_an_address_that_a_token_leaves_out_stays(world: PostgresWorld, database: Database) -> None:
    admitted(world, says(Role.VIEWER))
    admitted(world, says(Role.VIEWER, after=60, email=None))
    with psycopg.connect(database.server.make_dsn(OWNER, database.name)) as owner:
        assert owner.execute("SELECT email FROM users WHERE subject = 'ada'").fetchall() == [("ada@one.example",)]


def test_a_role_that_the_schema_does_not_know_adds_nobody(world: PostgresWorld, database: Database) -> None:
    with psycopg.connect(database.api_dsn) as api, pytest.raises(psycopg.errors.CheckViolation):
        api.execute("SELECT tessera.admit_member(%s, 'ada', 'one', 'root', NULL, now())", (ISSUER,))


def test_workers_admit_nobody(world: PostgresWorld, database: Database) -> None:
    with psycopg.connect(database.system_dsn) as system, pytest.raises(psycopg.errors.InsufficientPrivilege):
        system.execute("SELECT tessera.admit_member(%s, 'ada', 'one', 'admin', NULL, now())", (ISSUER,))
