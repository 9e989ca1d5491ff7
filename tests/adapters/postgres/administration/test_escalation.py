"""Attempts to get more rights, in plain SQL and in the API's own role: Python's checks are not asked."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from tests.adapters.postgres.administration.conftest import Administered, id_of
from wsi.records.identity import OPERATORS, Actor, Role

KEY = "INSERT INTO api_keys (tenant, name, prefix, secret_sha256, role, expires_at) VALUES (%s, 'k', %s, %s, %s, {})"
REFUSED = (errors.InsufficientPrivilege, errors.CheckViolation)


def run(world: Administered, actor: Actor | str, statement: str, values: tuple[object, ...] = ()) -> int:
    """Run a statement as the API would for this actor, and return the number of rows that it changed."""
    subject = actor if isinstance(actor, str) else actor.subject
    with psycopg.connect(world.database.api_dsn) as connection:
        connection.execute("SELECT set_config('tessera.actor', %s, true)", (subject,))
        return connection.execute(statement.encode(), values).rowcount


def add_key(world: Administered, actor: Actor | str, tenant: UUID, role: str, expires: str = "NULL") -> int:
    return run(world, actor, KEY.format(expires), (tenant, uuid4().hex, "0" * 64, role))


def make_key(world: Administered, role: Role, expires: str = "NULL") -> str:
    """Make a key of the hospital by its admin, and return its subject."""
    add_key(world, world.admin, world.tenants["hospital"], role, expires)
    [key] = world.directory.list_keys(world.admin, world.tenants["hospital"])
    return f"key:{key.id}"


def test_an_admin_makes_no_operator(administered: Administered) -> None:
    admin, analyst = administered.admin, administered.person("analyst@hospital.example")
    for statement, values in (
        ("UPDATE users SET role = 'operator' WHERE id = %s", (id_of(admin),)),
        ("UPDATE users SET role = 'operator', tenant = %s WHERE id = %s", (OPERATORS, id_of(admin))),
        ("UPDATE users SET role = 'operator', tenant = %s WHERE id = %s", (OPERATORS, id_of(analyst))),
        (
            "INSERT INTO invitations (tenant, email, role, expires_at) VALUES (%s, 'a@b.c', 'operator', now())",
            (OPERATORS,),
        ),
        (
            "INSERT INTO invitations (tenant, email, role, expires_at) VALUES (%s, 'a@b.c', 'operator', now())",
            (admin.tenant,),
        ),
    ):
        with pytest.raises(REFUSED):
            run(administered, admin, statement, values)
    for tenant in (OPERATORS, admin.tenant):
        with pytest.raises(REFUSED):
            add_key(administered, admin, tenant, "operator")


def test_an_admin_touches_no_other_tenant(administered: Administered) -> None:
    rival, theirs = administered.tenants["rival"], administered.person("analyst@rival.example")
    admin = administered.admin
    assert run(administered, admin, "UPDATE users SET role = 'viewer' WHERE tenant = %s", (rival,)) == 0
    assert run(administered, admin, "UPDATE users SET disabled_at = now() WHERE id = %s", (id_of(theirs),)) == 0
    assert run(administered, admin, "SELECT id FROM users WHERE tenant = %s", (rival,)) == 0
    assert run(administered, admin, "SELECT id FROM tenants") == 1
    mine = id_of(administered.person("analyst@hospital.example"))
    for statement, values in (
        ("UPDATE users SET tenant = %s WHERE id = %s", (rival, mine)),
        ("INSERT INTO invitations (tenant, email, role, expires_at) VALUES (%s, 'a@b.c', 'admin', now())", (rival,)),
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            run(administered, admin, statement, values)
    with pytest.raises(errors.InsufficientPrivilege):
        add_key(administered, admin, rival, "viewer")
    with psycopg.connect(administered.database.api_dsn) as connection:
        connection.execute("SELECT tessera.act(%s)", (admin.subject,))
        with pytest.raises(psycopg.Error) as refusal:
            connection.execute("SELECT tessera.administer(%s)", (rival,))
    assert refusal.value.diag.sqlstate == "TS403"


@pytest.mark.parametrize("who", ["analyst", "analyst's key", "disabled admin", "revoked key", "nobody"])
def test_nobody_else_makes_keys_or_sees_people(administered: Administered, who: str) -> None:
    hospital = administered.tenants["hospital"]
    actor = "user:none"
    if who == "analyst":
        actor = administered.person("analyst@hospital.example").subject
    elif who == "analyst's key":
        actor = make_key(administered, Role.ANALYST)
    elif who == "disabled admin":
        actor = administered.admin.subject
        administered.add_person("hospital", "second@hospital.example", Role.ADMIN)
        other = administered.person("second@hospital.example")
        administered.directory.change_member(other, UUID(actor[5:]), is_disabled=True)
    elif who == "revoked key":
        actor = make_key(administered, Role.ADMIN)
        administered.directory.revoke_key(administered.admin, UUID(actor[4:]))
    with pytest.raises(errors.InsufficientPrivilege):
        add_key(administered, actor, hospital, "viewer")
    assert run(administered, actor, "SELECT id FROM users") == 0
    assert run(administered, actor, "UPDATE users SET role = 'admin'") == 0


def test_a_key_makes_none_that_outlives_it_and_does_not_prolong_itself(administered: Administered) -> None:
    hospital = administered.tenants["hospital"]
    key = make_key(administered, Role.ADMIN, "now() + interval '1 hour'")
    assert add_key(administered, key, hospital, "admin", "now() + interval '50 minutes'") == 1
    for expires in ("NULL", "now() + interval '2 hours'"):
        with pytest.raises(errors.InsufficientPrivilege):
            add_key(administered, key, hospital, "viewer", expires)
    for expires in ("NULL", "now() + interval '1 day'"):
        with pytest.raises(errors.InsufficientPrivilege):
            run(administered, key, f"UPDATE api_keys SET expires_at = {expires} WHERE id = %s", (UUID(key[4:]),))
    administered.database.pass_time(3600)
    with pytest.raises(errors.InsufficientPrivilege):
        add_key(administered, key, hospital, "viewer", "now()")


def test_what_stays_closed_stays_closed_to_operators_too(administered: Administered) -> None:
    for statement in (
        "SELECT secret_sha256 FROM api_keys",
        "SELECT issuer FROM users",
        "UPDATE users SET subject = 'mine'",
        "UPDATE api_keys SET secret_sha256 = '0'",
        "UPDATE api_keys SET role = 'admin'",
        "INSERT INTO users (tenant, issuer, subject, role) VALUES (gen_random_uuid(), 'a', 'b', 'admin')",
        "UPDATE tenants SET suspended_at = NULL",
        "UPDATE invitations SET accepted_at = NULL",
        "SELECT tessera.check_operator('user:1')",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            run(administered, administered.operator, statement)


def test_a_suspended_tenant_administers_nothing(administered: Administered) -> None:
    admin = administered.admin
    administered.owner.suspend_tenant("hospital", is_suspended=True)
    assert run(administered, admin, "SELECT id FROM users") == 0
    with pytest.raises(errors.InsufficientPrivilege):
        add_key(administered, admin, admin.tenant, "admin")
