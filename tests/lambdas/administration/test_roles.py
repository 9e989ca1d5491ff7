"""Who may call which route of administration; on ports that fail the test if they are reached."""

from __future__ import annotations

import pytest

from tests.installation import OPERATOR
from tests.lambdas.test_api_rules import SOME, WRITES

ADMINISTRATION = [
    ("GET", "/admin/people", None),
    ("PATCH", f"/admin/people/{SOME}", {"disabled": True}),
    ("POST", f"/admin/people/{SOME}/hand-over", {"to": SOME}),
    ("GET", "/admin/invitations", None),
    ("POST", "/admin/invitations", {"email": "ada@hospital.example", "role": "viewer"}),
    ("DELETE", f"/admin/invitations/{SOME}", None),
    ("GET", "/admin/keys", None),
    ("POST", "/admin/keys", {"name": "a", "role": "viewer"}),
    ("POST", f"/admin/keys/{SOME}/rotate", {}),
    ("PATCH", f"/admin/keys/{SOME}", {"expires_at": None}),
    ("DELETE", f"/admin/keys/{SOME}", None),
    ("GET", "/admin/quotas", None),
]
OPERATION = [
    ("GET", "/admin/tenants", None),
    ("POST", "/admin/tenants", {"name": "a"}),
    *(("POST", f"/admin/tenants/{action}", {"tenant": "a"}) for action in ("suspend", "resume")),
    ("POST", "/admin/tenants/rename", {"tenant": "a", "name": "b"}),
    ("POST", f"/admin/people/{SOME}/move", {"tenant": "a", "role": "viewer"}),
    ("POST", "/admin/models", {"card": {}, "package_uri": "s3://bucket/package/"}),
    ("POST", "/admin/models/builtin", {"name": "stain-density"}),
    ("PATCH", "/admin/quotas", {"tiles_a_day": 1}),
]


@pytest.mark.parametrize(("method", "path", "body"), [*ADMINISTRATION, *OPERATION])
def test_nobody_administers_without_the_authorizers_word(callers, method, path, body):
    reply = callers.nobody(method, path, body)
    assert (reply.status, reply.body["type"]) == (401, "/problems/unauthenticated")


@pytest.mark.parametrize(("method", "path", "body"), [*ADMINISTRATION, *OPERATION])
def test_viewers_and_analysts_administer_nothing(callers, method, path, body):
    for caller in (callers.viewer, callers.analyst):
        reply = caller(method, path, body)
        assert (reply.status, reply.body["type"]) == (403, "/problems/forbidden")


@pytest.mark.parametrize(("method", "path", "body"), OPERATION)
def test_admins_do_nothing_of_operators(callers, method, path, body):
    reply = callers.admin(method, path, body)
    assert (reply.status, reply.body["type"]) == (403, "/problems/forbidden")


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_an_operator_does_nothing_to_slides_jobs_and_models_of_tenants(callers, method, path, body):
    reply = callers.of(OPERATOR)(method, path, body)
    assert (reply.status, reply.body["type"]) == (403, "/problems/forbidden")
    assert "You are an operator" in reply.body["detail"]
