"""Tenants, quotas and models by the API, for operators."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest

from adapters.postgres.connections import Connections
from adapters.postgres.owner.administration import Administration
from adapters.postgres.system_ledger import PostgresSystemLedger
from lambdas import operate
from local.operations import OperationsInProcess
from tests.lambdas.administration.conftest import Site
from tests.lambdas.rest import Caller
from tests.postgres import Database
from wsi.errors import LedgerUnavailable
from wsi.records.operations.dead_letters import ArrivedLetter

SENTENCE = "Your organisation is suspended here; ask the operator of this installation."


def test_a_suspended_tenant_is_refused_at_once_with_the_reason(site: Site, operator: Caller, admin: Caller) -> None:
    key = admin("POST", "/admin/keys", {"name": "robot", "role": "analyst"}).body["key"]
    robot = site.use_key(key)
    assert operator("POST", "/admin/tenants/suspend", {"tenant": "hospital"}).body == {"suspended": True}
    for caller, paths in ((admin, ("/me", "/slides", "/jobs", "/admin/people")), (robot, ("/me", "/slides"))):
        for path in paths:
            reply = caller("GET", path)
            assert (reply.status, reply.body["detail"]) == (403, SENTENCE), path
    assert site.sign_in("admin@rival.example")("GET", "/slides").status == 200
    states = {one["name"]: one["is_suspended"] for one in operator("GET", "/admin/tenants").body["items"]}
    assert states == {"hospital": True, "rival": False}
    assert len(operator("GET", "/admin/people", query={"tenant": "hospital"}).body["items"]) == 2
    operator("POST", "/admin/tenants/resume", {"tenant": "hospital"})
    assert admin("GET", "/slides").status == 200


def test_each_action_is_in_the_audit_log_of_its_tenant_with_the_operators_name(
    site: Site, operator: Caller, database: Database
) -> None:
    tenant = operator("POST", "/admin/tenants", {"name": "clinic"}).body["tenant"]
    operator("POST", "/admin/tenants/rename", {"tenant": "clinic", "name": "institute"})
    for action in ("suspend", "suspend", "resume"):
        operator("POST", f"/admin/tenants/{action}", {"tenant": "institute"})
    operator("PATCH", "/admin/quotas", {"tenant": "institute", "tiles_a_day": 5})
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("SELECT tessera.enter(%s)", (tenant,))
        lines = connection.execute("SELECT actor, action FROM audit_log ORDER BY seq").fetchall()
    assert [action for _, action in lines] == [
        *("tenant.add", "tenant.rename", "tenant.suspend", "tenant.resume", "quotas.set")
    ]
    assert {actor for actor, _ in lines} == {operator.actor.subject}


def test_quotas_are_set_by_operators_and_read_by_the_admin(operator: Caller, admin: Caller) -> None:
    assert operator("PATCH", "/admin/quotas", {"uploads_open": 9}).body["uploads_open"] == 9
    set_now = operator("PATCH", "/admin/quotas", {"tenant": "hospital", "tiles_a_day": 5, "top_priority": "normal"})
    assert set_now.status == 200
    expected = {
        "tiles_a_day": 5,
        "bytes_stored": None,
        "uploads_open": 9,
        "jobs_waiting": None,
        "top_priority": "normal",
        "dollars_a_month": None,
        "stops_at_budget": None,
    }
    assert admin("GET", "/admin/quotas").body == expected
    assert operator("GET", "/admin/quotas", query={"tenant": "hospital"}).body == expected
    assert operator("GET", "/admin/quotas").body["tiles_a_day"] is None
    assert operator("PATCH", "/admin/quotas", {"tenant": "hospital", "tiles_a_day": None}).body["tiles_a_day"] is None


def test_refusals_of_the_function_keep_their_kind(operator: Caller) -> None:
    assert operator("POST", "/admin/tenants/suspend", {"tenant": "unknown"}).status == 404
    assert operator("POST", "/admin/tenants/rename", {"tenant": "rival", "name": "hospital"}).status == 409
    assert operator("POST", "/admin/tenants/suspend", {"tenant": "(operators)"}).status == 409
    assert operator("POST", "/admin/models/builtin", {"name": "unknown"}).status == 404
    registered = operator("POST", "/admin/models/builtin", {"name": "stain-density"})
    assert (registered.status, registered.body["model"]) == (201, "stain-density")


@pytest.mark.parametrize("operator", [None, "owner", "user:", "user:0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"])
def test_the_function_does_nothing_for_nobody(site: Site, operator: str | None) -> None:
    handle = operate.make_handler(site.owner)
    named = {"operator": operator} if operator is not None else {}
    for action in ({"add_tenant": {"name": "mine"}}, {"register_builtin": {"name": "stain-density"}}):
        answer = handle({**named, "action": action}, None)
        assert answer["code"] in ("invalid", "forbidden")
    assert handle({"add_tenant": {"name": "mine"}}, None)["code"] == "invalid"
    assert [one.name for one in site.owner.list_tenants()] == ["hospital", "rival"]


def test_somebody_who_is_no_operator_any_more_operates_nothing(site: Site, operator: Caller) -> None:
    operator("POST", "/admin/keys", {"name": "robot", "role": "operator"})
    key = operator("POST", "/admin/keys", {"name": "second", "role": "operator"}).body
    robot = site.use_key(key["key"])
    assert robot("GET", "/admin/tenants").status == 200
    operator("DELETE", f"/admin/keys/{key['key_id']}")
    assert robot("GET", "/admin/tenants").status == 403


def test_sources_and_periods_are_an_operators_to_set(operator: Caller, admin: Caller) -> None:
    asked = {"tenant": "hospital", "bucket": "their-slides", "prefix": "labs/"}
    assert operator("POST", "/admin/sources", asked).status == 201
    assert operator("POST", "/admin/sources", {**asked, "prefix": "labs"}).status == 422
    listed = operator("GET", "/admin/sources", query={"tenant": "hospital"}).body["items"]
    assert listed == [{"bucket": "their-slides", "prefix": "labs/"}]
    assert operator("POST", "/admin/sources/remove", asked).body == {"removed": True}
    assert operator("POST", "/admin/sources/remove", asked).body == {"removed": False}
    kept = operator("PATCH", "/admin/retention", {"tenant": "hospital", "result_days": 30}).body
    assert kept == {"slide_days": None, "result_days": 30, "key_days": None}
    assert operator("GET", "/admin/retention", query={"tenant": "hospital"}).body == kept
    assert operator("GET", "/admin/retention", query={"tenant": "nobody"}).status == 404
    for method, path in (("POST", "/admin/sources"), ("POST", "/admin/sources/remove"), ("PATCH", "/admin/retention")):
        assert admin(method, path, asked if "sources" in path else {"tenant": "hospital", "key_days": 1}).status == 403


def test_dead_letters_are_redriven_by_an_operator_alone(
    site: Site, operator: Caller, admin: Caller, database: Database
) -> None:
    connections = Connections(database.system_dsn)
    sent_at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    letter = ArrivedLetter(message_id="1", queue="plan", text="Jane Doe", receives=6, sent_at=sent_at)
    PostgresSystemLedger(connections).settle_letter(letter)
    connections.close()
    assert admin("GET", "/admin/dead-letters").status == 403
    assert admin("POST", "/admin/dead-letters/redrive", {}).status == 403
    (found,) = operator("GET", "/admin/dead-letters", query={"queue": "plan"}).body["items"]
    assert (found["queue"], found["outcome"], "Jane" in str(found)) == ("plan", "unreadable", False)
    assert operator("GET", "/admin/dead-letters", query={"queue": "stitch"}).body == {"items": []}
    assert [one["id"] for one in operator("POST", "/admin/dead-letters/redrive", {}).body["items"]] == [found["id"]]
    assert operator("POST", "/admin/dead-letters/redrive", {}).body == {"items": []}


def test_a_database_that_hangs_up_on_the_function_is_no_refusal(site: Site) -> None:
    away = Administration(lambda: "host=127.0.0.1 port=1 dbname=none")
    operations = OperationsInProcess(operate.make_handler(away))
    operator = site.find("operator")
    assert operator is not None
    with pytest.raises(LedgerUnavailable):
        operations.carry_out(operator, "list_tenants", {})
