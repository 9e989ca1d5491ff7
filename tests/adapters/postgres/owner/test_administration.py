from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest
from psycopg import errors

from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.seeding import SeedUser, split_key
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from local.postgres import OWNER
from tests.contracts.ledger_world import MODEL
from tests.postgres import Database
from wsi.errors import Conflict, NotFound
from wsi.records.audit.lines import AuditFilter
from wsi.records.identity import Actor, Role

ISSUER = "https://issuer.example"


@pytest.fixture
def administration(database: Database) -> Administration:
    return Administration(lambda: database.server.make_dsn(OWNER, database.name))


@pytest.fixture
def identities(database: Database) -> Iterator[PostgresIdentities]:
    connections = Connections(database.api_dsn)
    yield PostgresIdentities(connections)
    connections.close()


def person(subject: str = "sub", role: Role = Role.ADMIN, email: str | None = None) -> SeedUser:
    return SeedUser(issuer=ISSUER, subject=subject, role=role, email=email)


def audited(database: Database, tenant: UUID) -> list[tuple[str, str, str]]:
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("SELECT tessera.enter(%s)", (tenant,))
        return connection.execute("SELECT actor, action, subject FROM audit_log ORDER BY seq").fetchall()


def key_actor(identities: PostgresIdentities, key: str) -> Actor | None:
    return identities.find_api_key(*split_key(key))


def test_a_tenant_and_its_first_admin_may_sign_in(
    administration: Administration, identities: PostgresIdentities
) -> None:
    tenant = administration.add_tenant("hospital")
    user = administration.add_user("hospital", person())
    assert identities.find_user(ISSUER, "sub") == Actor(tenant=tenant, subject=f"user:{user}", role=Role.ADMIN)


def test_done_twice_it_changes_nothing_and_is_written_down_once(
    database: Database, administration: Administration
) -> None:
    for _ in range(2):
        tenant = administration.add_tenant("hospital")
        user = administration.add_user("hospital", person())
    assert audited(database, tenant) == [
        ("owner", "tenant.add", str(tenant)),
        ("owner", "user.add", f"user:{user}"),
    ]
    [summary] = administration.list_tenants()
    assert (summary.id, summary.name, summary.users, summary.keys) == (tenant, "hospital", 1, 0)


def test_an_address_that_is_said_later_is_added_and_one_that_is_left_out_stays(
    database: Database, administration: Administration
) -> None:
    tenant = administration.add_tenant("hospital")
    for email in (None, "ada@hospital.example", None):
        user = administration.add_user("hospital", person(email=email))
    assert [action for _, action, _ in audited(database, tenant)] == ["tenant.add", "user.add", "user.add"]
    api = Connections(database.api_dsn)
    actor = Actor(tenant=tenant, subject=f"user:{user}", role=Role.ADMIN)
    assert PostgresTenantLedger(api).list_names(actor, [actor.subject]) == {actor.subject: "ada@hospital.example"}
    api.close()


def test_a_person_has_one_tenant(administration: Administration, identities: PostgresIdentities) -> None:
    first = administration.add_tenant("first")
    administration.add_tenant("second")
    administration.add_user("first", person())
    with pytest.raises(Conflict):
        administration.add_user("second", person())
    actor = identities.find_user(ISSUER, "sub")
    assert actor
    assert actor.tenant == first


def test_who_is_disabled_is_locked_out_until_added_again(
    database: Database, administration: Administration, identities: PostgresIdentities
) -> None:
    tenant = administration.add_tenant("hospital")
    administration.add_user("hospital", person(role=Role.ANALYST))
    for _ in range(2):
        administration.disable_user(ISSUER, "sub")
    assert identities.find_user(ISSUER, "sub") is None
    administration.add_user("hospital", person(role=Role.VIEWER))
    actor = identities.find_user(ISSUER, "sub")
    assert actor
    assert actor.role is Role.VIEWER
    actions = [action for _, action, _ in audited(database, tenant)]
    assert actions == ["tenant.add", "user.add", "user.disable", "user.add"]


def test_a_key_works_until_it_is_revoked(
    database: Database, administration: Administration, identities: PostgresIdentities
) -> None:
    tenant = administration.add_tenant("hospital")
    key = administration.add_key("hospital", "scanner", Role.ANALYST)
    actor = key_actor(identities, key)
    assert actor
    assert (actor.tenant, actor.role) == (tenant, Role.ANALYST)
    with pytest.raises(Conflict):
        administration.add_key("hospital", "scanner", Role.ANALYST)
    assert administration.revoke_key("hospital", "scanner") == 1
    assert administration.revoke_key("hospital", "scanner") == 0
    assert key_actor(identities, key) is None
    assert key_actor(identities, administration.add_key("hospital", "scanner", Role.VIEWER))
    lines = audited(database, tenant)
    assert lines[1:3] == [("owner", "key.add", actor.subject), ("owner", "key.revoke", actor.subject)]
    assert "tsk_" not in str(lines)


def test_no_line_holds_the_name_of_a_tenant_a_key_or_a_person(
    database: Database, administration: Administration
) -> None:
    tenant = administration.add_tenant("hospital")
    administration.add_user("hospital", person(email="ada@hospital.example"))
    administration.add_key("hospital", "scanner-of-ada", Role.ANALYST)
    administration.revoke_key("hospital", "scanner-of-ada")
    administration.set_quotas("hospital", {"jobs_waiting": 5})
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("SELECT tessera.enter(%s)", (tenant,))
        lines = connection.execute("SELECT subject, detail FROM audit_log").fetchall()
    assert len(lines) == 5
    assert "hospital" not in str(lines)
    assert "ada" not in str(lines)


def test_quotas_of_all_and_registered_models_are_in_the_installations_log(administration: Administration) -> None:
    administration.as_operator("arn:aws:iam::1:user/ada", "request-1").set_quotas(None, {"jobs_waiting": 5})
    administration.register_model(MODEL)
    page = administration.list_audit(None, AuditFilter(), before=None, limit=9)
    assert [(line.actor, line.action, line.detail) for line in page.items[::-1]] == [
        ("arn:aws:iam::1:user/ada", "quotas.set", {"jobs_waiting": 5, "request": "request-1"}),
        ("owner", "model.register", {"digest": MODEL.digest}),
    ]
    assert administration.verify_audit(None, {}).is_whole


def test_of_two_who_make_a_key_of_one_name_at_once_one_is_refused(administration: Administration) -> None:
    administration.add_tenant("hospital")

    def add(_: int) -> str:
        try:
            return administration.add_key("hospital", "scanner", Role.ANALYST)
        except Conflict:
            return "refused"

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(add, range(4)))
    assert answers.count("refused") == 3


@pytest.mark.parametrize("known", [False, True])
def test_a_name_that_is_unknown_is_told(administration: Administration, known: bool) -> None:
    if known:
        administration.add_tenant("another")
    for ask in (
        lambda: administration.add_user("hospital", person()),
        lambda: administration.add_key("hospital", "scanner", Role.ANALYST),
        lambda: administration.revoke_key("hospital", "scanner"),
        lambda: administration.disable_user(ISSUER, "sub"),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_model_is_registered_once(database: Database, administration: Administration) -> None:
    for _ in range(2):
        administration.register_model(MODEL)
    with psycopg.connect(database.api_dsn) as connection:
        assert connection.execute("SELECT name, digest FROM model_versions").fetchall() == [(MODEL.name, MODEL.digest)]


def test_the_owner_appends_to_the_audit_log_and_reads_or_changes_nothing_of_it(
    database: Database, administration: Administration
) -> None:
    administration.add_tenant("hospital")
    with psycopg.connect(database.server.make_dsn(OWNER, database.name), autocommit=True) as owner:
        assert owner.execute("SELECT count(*) FROM audit_log").fetchone() == (0,)
        for statement in (b"UPDATE audit_log SET actor = 'x'", b"DELETE FROM audit_log", b"TRUNCATE audit_log"):
            with pytest.raises(errors.InsufficientPrivilege, match="append-only"):
                owner.execute(statement)
