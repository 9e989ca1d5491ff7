"""A tenant that has an admin keeps one, whatever is done at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

import psycopg
import pytest

from local.postgres import OWNER
from tests.adapters.postgres.administration.conftest import ISSUER, Administered, id_of
from wsi.access import make_api_key
from wsi.errors import Conflict, RequestError
from wsi.records.administration.people import Member
from wsi.records.identity import OPERATORS, Actor, Role

Change = Callable[[Administered, Actor, UUID], object]
CHANGES: dict[str, Change] = {
    "disable": lambda world, actor, whom: world.directory.change_member(actor, whom, is_disabled=True),
    "role": lambda world, actor, whom: world.directory.change_member(actor, whom, role=Role.ANALYST),
    "move": lambda world, _, whom: world.directory.move_member(
        world.operator, whom, world.tenants["rival"], Role.ADMIN
    ),
}


def admins(world: Administered) -> list[Member]:
    members = world.directory.list_members(world.operator, world.tenants["hospital"])
    return [one for one in members if one.role is Role.ADMIN and one.disabled_at is None]


@pytest.mark.parametrize("change", CHANGES)
def test_the_last_admin_stays(administered: Administered, change: str) -> None:
    admin = administered.admin
    for actor in (admin, administered.operator):
        with pytest.raises(Conflict, match="the last admin; make somebody else an admin first"):
            CHANGES[change](administered, actor, id_of(admin))
    administered.add_person("hospital", "second@hospital.example", Role.ADMIN)
    CHANGES[change](administered, admin, id_of(admin))
    assert [one.email for one in admins(administered)] == ["second@hospital.example"]


def test_the_owner_removes_no_last_admin_either(administered: Administered) -> None:
    with pytest.raises(Conflict, match="the last admin"):
        administered.owner.disable_user(ISSUER, "admin@hospital.example")
    with pytest.raises(Conflict, match="the last admin"):
        administered.add_person("hospital", "admin@hospital.example", Role.VIEWER)
    with (
        psycopg.connect(administered.database.server.make_dsn(OWNER, administered.database.name)) as owner,
        pytest.raises(psycopg.Error, match="the last admin"),
    ):
        owner.execute("DELETE FROM users WHERE subject = 'admin@hospital.example'")


def test_the_last_operator_stays(administered: Administered) -> None:
    operator = administered.operator
    with pytest.raises(Conflict, match="the last operator"):
        administered.directory.change_member(operator, id_of(operator), is_disabled=True)
    with pytest.raises(Conflict, match="the last operator"):
        administered.directory.move_member(operator, id_of(operator), administered.tenants["rival"], Role.ADMIN)
    assert [one.role for one in administered.directory.list_members(operator, OPERATORS)] == [Role.OPERATOR]


@pytest.mark.parametrize("change", CHANGES)
def test_two_admins_who_remove_each_other_at_once_leave_one(administered: Administered, change: str) -> None:
    for attempt in range(4):
        second = administered.add_person("hospital", f"second{attempt}@hospital.example", Role.ADMIN)
        pair = admins(administered)
        assert second in {one.id for one in pair}
        assert len(pair) == 2
        start = Barrier(2)

        def remove(mine: Member, theirs: Member, start: Barrier = start) -> str:
            actor = Actor(tenant=mine.tenant, subject=f"user:{mine.id}", role=Role.ADMIN)
            start.wait()
            try:
                CHANGES[change](administered, actor, theirs.id)
            except RequestError as error:
                return error.code
            return "done"

        with ThreadPoolExecutor(2) as pool:
            answers = sorted(pool.map(remove, pair, reversed(pair)))
        assert answers in (["conflict", "done"], ["done", "forbidden"])
        assert len(admins(administered)) == 1


def test_two_plain_updates_at_once_leave_one_admin_by_the_trigger_alone(administered: Administered) -> None:
    administered.add_person("hospital", "second@hospital.example", Role.ADMIN)
    first, second = admins(administered)
    start = Barrier(2)

    def disable(one: Member) -> str:
        dsn = administered.database.server.make_dsn(OWNER, administered.database.name)
        try:
            with psycopg.connect(dsn) as connection:
                start.wait()
                connection.execute("UPDATE users SET disabled_at = now() WHERE id = %s", (one.id,))
        except psycopg.Error as error:
            return error.diag.sqlstate or ""
        return "done"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(disable, (first, second))) == ["TS409", "done"]
    assert len(admins(administered)) == 1


def test_a_tenant_of_keys_alone_keeps_an_admin_key(administered: Administered) -> None:
    tenant = administered.owner.add_tenant("robots")
    operator = administered.operator
    keys = [
        administered.directory.add_key(operator, tenant, name, Role.ADMIN, make_api_key(), expires_at=None)
        for name in ("one", "two")
    ]
    administered.directory.revoke_key(operator, keys[0].id)
    for remove in (
        lambda: administered.directory.revoke_key(operator, keys[1].id),
        lambda: administered.owner.revoke_key("robots", "two"),
    ):
        with pytest.raises(Conflict, match="the last admin"):
            remove()
    successor = administered.directory.rotate_key(operator, keys[1].id, make_api_key(), hours=0)
    assert successor.works
