"""People, invitations and keys by the API, for an admin and for an operator."""

from __future__ import annotations

import pytest

from tests.lambdas.administration.conftest import ISSUER, Site, find_person
from tests.lambdas.rest import Caller
from wsi.records.identity import Role


def test_an_admin_invites_a_person_who_belongs_to_the_tenant_from_the_first_sign_in(site: Site, admin: Caller) -> None:
    reply = admin("POST", "/admin/invitations", {"email": "Bo@hospital.example", "role": "analyst"})
    assert (reply.status, reply.body["email"], reply.body["password"]) == (201, "bo@hospital.example", "first")
    [pending] = admin("GET", "/admin/invitations").body["items"]
    assert pending["invitation_id"] == reply.body["invitation_id"]
    assert "password" not in pending
    assert site.identities.accept_invitation(ISSUER, "sub of bo@hospital.example", None) is not None
    bo = site.sign_in("sub of bo@hospital.example")
    me = bo("GET", "/me").body
    assert (me["name"], me["role"]) == ("bo@hospital.example", "analyst")
    assert admin("DELETE", f"/admin/invitations/{pending['invitation_id']}").status == 404


def test_an_account_of_another_sign_in_is_invited_by_its_subject(site: Site, admin: Caller) -> None:
    account = {"issuer": ISSUER, "subject": "elsewhere"}
    fields = {"email": "bo@hospital.example", "role": "viewer", "account": account}
    assert admin("POST", "/admin/invitations", fields).status == 201
    assert site.accounts.asked == []
    assert site.identities.accept_invitation(ISSUER, "elsewhere", None) is not None


def test_disabling_ends_the_account_too_and_enabling_brings_it_back(site: Site, admin: Caller) -> None:
    analyst = find_person(admin, "analyst@hospital.example")
    path = f"/admin/people/{analyst}"
    assert admin("PATCH", path, {"disabled": True}).body["disabled"] is True
    assert site.find("analyst@hospital.example") is None
    assert admin("PATCH", path, {"disabled": False, "role": "viewer"}).body["role"] == "viewer"
    assert site.accounts.asked == [("disable", "analyst@hospital.example"), ("enable", "analyst@hospital.example")]
    assert admin("PATCH", path, {}).status == 422


def test_the_last_admin_is_kept_and_the_account_not_touched(site: Site, admin: Caller) -> None:
    reply = admin("PATCH", f"/admin/people/{find_person(admin, 'admin@hospital.example')}", {"disabled": True})
    assert (reply.status, reply.body["type"]) == (409, "/problems/conflict")
    assert "make somebody else an admin first" in reply.body["detail"]
    assert site.accounts.asked == []


def test_a_key_is_shown_once_rotated_expired_and_revoked(site: Site, admin: Caller) -> None:
    made = admin("POST", "/admin/keys", {"name": "scanner", "role": "analyst"})
    assert made.status == 201
    assert made.body["key"].startswith(f"tsk_{made.body['prefix']}_")
    assert site.use_key(made.body["key"])("GET", "/slides").status == 200
    [listed] = admin("GET", "/admin/keys").body["items"]
    assert listed["last_used_at"] is not None
    assert made.body["key"].rpartition("_")[2] not in str(listed)
    path = f"/admin/keys/{made.body['key_id']}"
    successor = admin("POST", f"{path}/rotate", {"hours": 1}).body
    assert (successor["name"], successor["works"]) == ("scanner", True)
    assert admin("PATCH", path, {"expires_at": "2000-01-01T00:00:00Z"}).status == 422
    assert admin("PATCH", path, {"expires_at": "2030-01-01T00:00:00"}).status == 422  # of which zone?
    assert admin("PATCH", path, {"expires_at": "2030-01-01T00:00:00Z"}).body["expires_at"] == "2030-01-01T00:00:00Z"
    assert admin("DELETE", path).body["works"] is False
    assert admin("POST", f"{path}/rotate", {}).status == 409


@pytest.mark.parametrize("role", ["admin", "analyst"])
def test_no_key_becomes_stronger_than_the_one_that_makes_it(site: Site, admin: Caller, role: str) -> None:
    expires = "2030-01-01T00:00:00Z"
    made = admin("POST", "/admin/keys", {"name": "robot", "role": role, "expires_at": expires}).body
    robot = site.use_key(made["key"])
    for fields in ({"role": "operator", "expires_at": expires}, {"role": "viewer"}, {"role": "admin"}):
        reply = robot("POST", "/admin/keys", {"name": "stronger", **fields})
        assert reply.status in (403, 422), reply.body
    assert robot("PATCH", f"/admin/keys/{made['key_id']}", {"expires_at": None}).status == 403
    weaker = robot("POST", "/admin/keys", {"name": "weaker", "role": "viewer", "expires_at": "2029-01-01T00:00:00Z"})
    assert weaker.status == (201 if role == "admin" else 403)


def test_a_role_that_the_database_does_not_know_of_opens_nothing(site: Site) -> None:
    wrong = site.claim("analyst@hospital.example", Role.ADMIN)
    for method, path, body in (
        ("GET", "/admin/people", None),
        ("GET", "/admin/keys", None),
        ("POST", "/admin/keys", {"name": "mine", "role": "admin"}),
        ("POST", "/admin/invitations", {"email": "a@b.example", "role": "admin"}),
    ):
        assert wrong(method, path, body).status == 403
    wrong = site.claim("admin@hospital.example", Role.OPERATOR)
    for method, path, body in (
        ("GET", "/admin/tenants", None),
        ("POST", "/admin/tenants/suspend", {"tenant": "rival"}),
        ("PATCH", "/admin/quotas", {"tenant": "rival", "tiles_a_day": 0}),
        ("POST", "/admin/models/builtin", {"name": "stain-density"}),
    ):
        reply = wrong(method, path, body)
        assert (reply.status, reply.body["detail"][:31]) == (403, "This needs the role operator, w")
    assert wrong("GET", "/admin/people", query={"tenant": "rival"}).status == 404


def test_an_admin_reaches_no_person_and_no_key_of_another_tenant(site: Site, admin: Caller, operator: Caller) -> None:
    theirs = find_person(operator, "analyst@rival.example", "rival")
    key = operator("POST", "/admin/keys", {"name": "k", "role": "viewer", "tenant": "rival"}).body["key_id"]
    for method, path, body in (
        ("PATCH", f"/admin/people/{theirs}", {"role": "viewer"}),
        ("PATCH", f"/admin/people/{theirs}", {"disabled": True}),
        ("POST", f"/admin/keys/{key}/rotate", {}),
        ("PATCH", f"/admin/keys/{key}", {"expires_at": None}),
        ("DELETE", f"/admin/keys/{key}", None),
        ("POST", f"/admin/people/{find_person(admin, 'analyst@hospital.example')}/hand-over", {"to": theirs}),
    ):
        assert admin(method, path, body).status == 404
    assert admin("GET", "/admin/keys", query={"tenant": "rival"}).status == 403
    assert site.accounts.asked == []


def test_an_operator_moves_a_person_hands_over_and_makes_another_operator(site: Site, operator: Caller) -> None:
    analyst = find_person(operator, "analyst@hospital.example", "hospital")
    taker = find_person(operator, "admin@hospital.example", "hospital")
    assert operator("POST", f"/admin/people/{analyst}/hand-over", {"to": taker}).body == {"slides": 0, "jobs": 0}
    assert operator("POST", f"/admin/people/{analyst}/move", {"tenant": "rival", "role": "operator"}).status == 422
    assert operator("POST", f"/admin/people/{analyst}/move", {"tenant": "rival", "role": "admin"}).status == 200
    assert operator("PATCH", f"/admin/people/{analyst}", {"role": "operator"}).status == 409
    assert operator("POST", "/admin/invitations", {"email": "a@b.example", "role": "admin"}).status == 422
    assert operator("POST", "/admin/invitations", {"email": "a@b.example", "role": "operator"}).status == 201
    new = site.identities.accept_invitation(ISSUER, "sub of a@b.example", None)
    assert new is not None
    assert new.role is Role.OPERATOR
