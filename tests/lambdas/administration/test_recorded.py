"""What is shown and changed under /admin is in the audit log, by ids alone."""

from __future__ import annotations

from tests.lambdas.administration.conftest import Site
from tests.lambdas.rest import Caller
from wsi.records.audit.lines import AuditFilter


def read_actions(site: Site, admin: Caller) -> list[str]:
    assert admin.actor is not None
    page = site.wiring.ledger.list_audit(admin.actor, AuditFilter(), cursor=None, limit=100)
    return [line.action for line in page.items][::-1]


def read_text(site: Site, admin: Caller) -> str:
    assert admin.actor is not None
    page = site.wiring.ledger.list_audit(admin.actor, AuditFilter(), cursor=None, limit=100)
    return str([(line.subject, line.detail) for line in page.items])


def test_lists_of_people_invitations_and_keys_are_recorded(site: Site, admin: Caller) -> None:
    before = len(read_actions(site, admin))
    for noun in ("people", "invitations", "keys"):
        assert admin("GET", f"/admin/{noun}").status == 200
    assert read_actions(site, admin)[before:] == ["people.list", "invitation.list", "key.list"]


def test_each_change_of_an_admin_is_recorded_without_a_name(site: Site, admin: Caller) -> None:
    before = len(read_actions(site, admin))
    invited = admin("POST", "/admin/invitations", {"email": "zoe@hospital.example", "role": "viewer"}).body
    assert admin("DELETE", f"/admin/invitations/{invited['invitation_id']}").status == 204
    key = admin("POST", "/admin/keys", {"name": "scanner of Zoe", "role": "analyst"}).body
    assert admin("PATCH", f"/admin/keys/{key['key_id']}", {"expires_at": "2099-01-01T00:00:00Z"}).status == 200
    successor = admin("POST", f"/admin/keys/{key['key_id']}/rotate", {"hours": 1}).body
    assert admin("DELETE", f"/admin/keys/{successor['key_id']}").status == 200
    person = next(one for one in admin("GET", "/admin/people").body["items"] if one["role"] == "analyst")
    assert admin("PATCH", f"/admin/people/{person['person_id']}", {"role": "viewer"}).status == 200
    done = read_actions(site, admin)[before:]
    changes = ["invitation.add", "invitation.withdraw", "key.add", "key.expire", "key.rotate", "key.revoke"]
    assert done == [*changes, "people.list", "user.role"]
    assert "oe" not in read_text(site, admin).replace("role", "")
