"""People, invitations and keys on a real Postgres."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.adapters.postgres.administration.conftest import ISSUER, Administered, id_of
from wsi.access import make_api_key
from wsi.errors import Conflict, Forbidden, NotFound
from wsi.records.administration.people import Member, SignInAccount
from wsi.records.identity import Actor, Role

NEW = "bo@hospital.example"


def invite(world: Administered, actor: Actor | None = None, role: Role = Role.ANALYST) -> None:
    world.directory.add_invitation(actor or world.admin, world.tenants["hospital"], NEW, role, days=3)


def test_an_admin_lists_the_people_of_the_own_tenant_and_an_operator_those_of_any(administered: Administered) -> None:
    tenant = administered.tenants["hospital"]
    for actor in (administered.admin, administered.operator):
        found = administered.directory.list_members(actor, tenant)
        assert [one.email for one in found] == ["admin@hospital.example", "analyst@hospital.example"]
    assert administered.directory.list_members(administered.admin, administered.tenants["rival"]) == ()
    with pytest.raises(NotFound):
        administered.directory.find_tenant(administered.admin, "rival")
    assert administered.directory.find_tenant(administered.operator, "rival") == administered.tenants["rival"]


def test_an_invitation_is_accepted_once_by_whoever_proves_the_address(administered: Administered) -> None:
    invite(administered)
    assert [one.email for one in administered.directory.list_invitations(*hospital(administered))] == [NEW]
    identities = administered.identities
    assert identities.accept_invitation(ISSUER, "somebody", None) is None
    assert identities.accept_invitation(ISSUER, "somebody", "other@hospital.example") is None
    accepted = identities.accept_invitation(ISSUER, "bo", NEW.upper())
    assert accepted is not None
    assert (accepted.tenant, accepted.role) == (administered.tenants["hospital"], Role.ANALYST)
    assert identities.find_user(ISSUER, "bo") == accepted
    assert identities.accept_invitation(ISSUER, "second", NEW) is None
    assert administered.directory.list_invitations(*hospital(administered)) == ()
    actions = [(actor, action) for actor, action, _ in administered.audited("hospital")][-2:]
    assert actions == [(administered.admin.subject, "invitation.add"), (accepted.subject, "invitation.accept")]


def hospital(world: Administered) -> tuple[Actor, UUID]:
    return world.admin, world.tenants["hospital"]


def test_of_many_requests_of_a_first_sign_in_one_accepts_and_all_are_let_in(administered: Administered) -> None:
    invite(administered)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: administered.identities.accept_invitation(ISSUER, "bo", NEW), range(8)))
    assert len(set(answers)) == 1
    assert answers[0] is not None
    assert [action for _, action, _ in administered.audited("hospital")].count("invitation.accept") == 1


def test_a_bound_invitation_is_for_its_account_alone(administered: Administered) -> None:
    invitation = administered.directory.add_invitation(*hospital(administered), NEW, Role.VIEWER, days=3)
    account = SignInAccount(issuer=ISSUER, subject="bo")
    administered.directory.bind_invitation(administered.admin, invitation.id, account)
    assert administered.identities.accept_invitation(ISSUER, "thief", NEW) is None
    assert administered.identities.accept_invitation(ISSUER, "bo", None) is not None


def test_an_expired_or_withdrawn_invitation_lets_nobody_in(administered: Administered) -> None:
    invite(administered)
    administered.database.pass_time(3 * 86_400)
    assert administered.identities.accept_invitation(ISSUER, "bo", NEW) is None
    assert administered.directory.list_invitations(*hospital(administered)) == ()
    invite(administered)
    [pending] = administered.directory.list_invitations(*hospital(administered))
    administered.directory.withdraw_invitation(administered.admin, pending.id)
    assert administered.identities.accept_invitation(ISSUER, "bo", NEW) is None
    with pytest.raises(NotFound):
        administered.directory.withdraw_invitation(administered.admin, pending.id)


def test_inviting_again_replaces_the_role_and_a_member_is_not_invited(administered: Administered) -> None:
    invite(administered, role=Role.ADMIN)
    invite(administered, role=Role.VIEWER)
    accepted = administered.identities.accept_invitation(ISSUER, "bo", NEW)
    assert accepted is not None
    assert accepted.role is Role.VIEWER
    assert administered.identities.accept_invitation(ISSUER, "bo2", NEW) is None
    with pytest.raises(Conflict, match="belongs to the tenant"):
        invite(administered)


def test_a_person_of_another_tenant_is_told_at_once(administered: Administered) -> None:
    invitation = administered.directory.add_invitation(*hospital(administered), NEW, Role.VIEWER, days=3)
    account = SignInAccount(issuer=ISSUER, subject="analyst@rival.example")
    with pytest.raises(Conflict, match="one tenant only"):
        administered.directory.bind_invitation(administered.admin, invitation.id, account)
    assert administered.directory.list_invitations(*hospital(administered)) == ()


def test_a_role_and_a_disabled_person_are_written_down_once(administered: Administered) -> None:
    analyst = administered.person("analyst@hospital.example")
    for _ in range(2):
        administered.directory.change_member(administered.admin, id_of(analyst), role=Role.ADMIN)
    assert administered.person("analyst@hospital.example").role is Role.ADMIN
    for _ in range(2):
        administered.directory.change_member(administered.admin, id_of(analyst), is_disabled=True)
    assert administered.identities.find_user(ISSUER, "analyst@hospital.example") is None
    with pytest.raises(Forbidden):  # as an admin, until a moment ago
        administered.directory.list_members(analyst, analyst.tenant)
    administered.directory.change_member(administered.admin, id_of(analyst), is_disabled=False)
    actions = [line for line in administered.audited("hospital") if line[2] == analyst.subject][1:]
    assert [action for _, action, _ in actions] == ["user.role", "user.disable", "user.enable"]
    assert {actor for actor, _, _ in actions} == {administered.admin.subject}


def test_an_operator_moves_a_person_and_both_tenants_write_it_down(administered: Administered) -> None:
    analyst = administered.person("analyst@hospital.example")
    rival = administered.tenants["rival"]
    moved = administered.directory.move_member(administered.operator, id_of(analyst), rival, Role.VIEWER)
    assert isinstance(moved, Member)
    now = administered.person("analyst@hospital.example")
    assert (now.tenant, now.role) == (rival, Role.VIEWER)
    line = (administered.operator.subject, analyst.subject)
    assert [(a, s) for a, action, s in administered.audited("hospital") if action == "user.leave"] == [line]
    assert [(a, s) for a, action, s in administered.audited("rival") if action == "user.join"] == [line]


def test_slides_and_unfinished_jobs_are_handed_over_and_finished_jobs_are_not(administered: Administered) -> None:
    world = administered
    leaver, taker = world.person("analyst@hospital.example"), world.admin
    with psycopg.connect(world.database.api_dsn) as connection:
        connection.execute("SELECT tessera.enter(%s)", (leaver.tenant,))
        for state in ("UPLOADING", "DELETED"):
            connection.execute(
                "INSERT INTO slides (id, tenant, name, state, created_by) VALUES (%s, %s, 'a', %s, %s)",
                (uuid4(), leaver.tenant, state, leaver.subject),
            )
    done = world.directory.hand_over(world.admin, id_of(leaver), id_of(taker))
    assert (done.slides, done.jobs) == (1, 0)
    assert world.directory.hand_over(world.admin, id_of(leaver), id_of(taker)).slides == 0
    with pytest.raises(NotFound):
        world.directory.hand_over(world.admin, id_of(leaver), id_of(world.person("admin@rival.example")))
    viewer = world.add_person("hospital", "viewer@hospital.example", Role.VIEWER)
    with pytest.raises(Conflict, match="analyst or an admin"):
        world.directory.hand_over(world.admin, id_of(leaver), viewer)


def test_a_rotated_key_works_on_for_its_hours_and_its_successor_beside_it(administered: Administered) -> None:
    old, new = make_api_key(), make_api_key()
    stored = administered.directory.add_key(*hospital(administered), "scanner", Role.ANALYST, old, expires_at=None)
    with pytest.raises(Conflict, match="works already"):
        administered.directory.add_key(*hospital(administered), "scanner", Role.VIEWER, new, expires_at=None)
    successor = administered.directory.rotate_key(administered.admin, stored.id, new, hours=2)
    assert (successor.name, successor.role, successor.expires_at) == ("scanner", Role.ANALYST, None)
    assert administered.key(old)
    assert administered.key(new)
    administered.database.pass_time(2 * 3600)
    assert administered.key(old) is None
    assert administered.key(new)
    with pytest.raises(Conflict, match="has expired"):
        administered.directory.rotate_key(administered.admin, stored.id, make_api_key(), hours=1)
    administered.directory.revoke_key(administered.admin, successor.id)
    assert administered.key(new) is None
    works = [one.works for one in administered.directory.list_keys(*hospital(administered))]
    assert works == [False, False]


def test_an_expiry_ends_a_key_in_sql_and_can_be_taken_back(administered: Administered) -> None:
    key, soon = make_api_key(), datetime.now(UTC) + timedelta(hours=1)
    stored = administered.directory.add_key(*hospital(administered), "robot", Role.VIEWER, key, expires_at=soon)
    administered.directory.expire_key(administered.admin, stored.id, None)
    administered.directory.expire_key(administered.admin, stored.id, soon)
    assert administered.key(key)
    administered.database.pass_time(3600)
    assert administered.key(key) is None
    actions = [action for _, action, subject in administered.audited("hospital") if subject == f"key:{stored.id}"]
    assert actions == ["key.add", "key.expire", "key.expire"]


def test_the_last_use_of_a_key_is_written_once_an_hour(administered: Administered) -> None:
    key = make_api_key()
    administered.directory.add_key(*hospital(administered), "robot", Role.VIEWER, key, expires_at=None)

    def last_used() -> datetime | None:
        [found] = administered.directory.list_keys(*hospital(administered))
        return found.last_used_at

    assert last_used() is None
    administered.key(key)
    first = last_used()
    assert first is not None
    administered.key(key)
    assert last_used() == first
    administered.database.pass_time(3600)
    administered.key(key)
    again = last_used()
    assert again is not None
    assert again > first


def test_a_secret_is_nowhere_but_in_its_digest(administered: Administered) -> None:
    key = make_api_key()
    stored = administered.directory.add_key(*hospital(administered), "robot", Role.VIEWER, key, expires_at=None)
    assert key.rpartition("_")[2] not in repr(stored)
    assert key.rpartition("_")[2] not in repr(administered.audited("hospital"))
