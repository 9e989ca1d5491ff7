"""What an operator asks of `administer`, and what it answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from adapters.postgres.connections import Connections
from adapters.postgres.owner.administration import Administration
from adapters.postgres.system_ledger import PostgresSystemLedger
from lambdas.administer import make_handler
from local.postgres import OWNER, SUPERUSER
from tessera.costs.usage import read_usage
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.operations.dead_letters import ArrivedLetter

PERSON = {"issuer": "https://issuer.example", "subject": "sub"}


@pytest.fixture
def administer(database):
    handler = make_handler(Administration(lambda: database.server.make_dsn(OWNER, database.name)))
    return lambda **action: handler(action, None)


def test_first_tenant_person_key_and_model(administer):
    tenant = administer(add_tenant={"name": "hospital"})["tenant"]
    assert administer(add_user={"tenant": "hospital", **PERSON, "role": "admin"}).keys() == {"user"}
    assert administer(add_key={"tenant": "hospital", "name": "scanner", "role": "analyst"})["key"].startswith("tsk_")
    registered = {"model": "stain-density", "version": STAIN_DENSITY.version, "digest": STAIN_DENSITY.digest}
    assert administer(register_builtin={"name": "stain-density"}) == registered
    summary = {"id": tenant, "name": "hospital", "users": 1, "keys": 1, "is_suspended": False}
    assert administer(list_tenants={}) == {"tenants": [summary]}


def test_usage_is_listed_by_day_and_is_what_the_command_reads(administer, database, tmp_path):
    tenants = [UUID(administer(add_tenant={"name": name})["tenant"]) for name in ("clinic", "hospital")]
    today = datetime.now(UTC).date()
    with psycopg.connect(database.system_dsn) as connection:
        for tenant, days_ago in ((tenants[0], 1), (tenants[1], 1), (tenants[0], 0), (tenants[0], 40)):
            connection.execute(
                "INSERT INTO usage VALUES (%s, %s, 1000, 1800)", (tenant, today - timedelta(days=days_ago))
            )
    answer = administer(list_usage={})
    yesterday = (today - timedelta(days=1)).isoformat()
    assert answer == {"days": 30, "usage": [{"day": yesterday, "tiles": 2000, "worker_seconds": 3600.0}]}
    path = tmp_path / "usage.json"
    path.write_text(json.dumps(answer))
    assert read_usage(str(path)).gpu_hours == 1


def test_sources_of_a_tenant_are_added_listed_and_removed_and_its_audit_log_tells(administer, database):
    tenant = UUID(administer(add_tenant={"name": "hospital"})["tenant"])
    part = {"tenant": "hospital", "bucket": "lab-slides", "prefix": "labs/a/"}
    for _ in range(2):
        assert administer(add_source=part) == {"source": "s3://lab-slides/labs/a/"}
    assert administer(add_source={"tenant": "hospital", "bucket": "whole"}) == {"source": "s3://whole/"}
    listed = [{"bucket": "lab-slides", "prefix": "labs/a/"}, {"bucket": "whole", "prefix": ""}]
    assert administer(list_sources={"tenant": "hospital"}) == {"sources": listed}
    assert administer(remove_source=part) == {"removed": True}
    assert administer(remove_source=part) == {"removed": False}
    assert administer(list_sources={"tenant": "hospital"}) == {"sources": listed[1:]}
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("SELECT tessera.enter(%s)", (tenant,))
        lines = connection.execute("SELECT actor, action, subject FROM audit_log ORDER BY seq").fetchall()
    assert lines[1:] == [
        ("owner", "source.add", "s3://lab-slides/labs/a/"),
        ("owner", "source.add", "s3://whole/"),
        ("owner", "source.remove", "s3://lab-slides/labs/a/"),
    ]


def test_taking_away(administer):
    administer(add_tenant={"name": "hospital"})
    administer(add_user={"tenant": "hospital", **PERSON, "role": "viewer"})
    administer(add_key={"tenant": "hospital", "name": "scanner", "role": "analyst"})
    assert administer(disable_user=PERSON) == {"disabled": True}
    assert administer(revoke_key={"tenant": "hospital", "name": "scanner"}) == {"revoked": 1}
    [summary] = administer(list_tenants={})["tenants"]
    assert (summary["users"], summary["keys"]) == (0, 0)


def test_a_package_is_registered_by_the_card_that_was_read_from_it(administer):
    card = {**STAIN_DENSITY.as_json(), "name": "tumor", "kind": "torchscript", "digest": "a" * 64}
    package = f"s3://models/models/{'a' * 64}/"
    answer = administer(register_model={"card": card, "package_uri": package})
    assert answer == {"model": "tumor", "version": card["version"], "digest": "a" * 64}
    changed = administer(register_model={"card": {**card, "digest": "b" * 64}, "package_uri": package})
    assert "versions never change" in changed["error"]


def test_a_model_is_registered_for_a_tenant_then_shared_with_all(administer):
    administer(add_tenant={"name": "hospital"})
    card = {**STAIN_DENSITY.as_json(), "name": "tumor", "kind": "torchscript"}
    for number in ("1", "2"):
        given = {**card, "version": number, "digest": number * 64}
        answer = administer(register_model={"card": given, "package_uri": "s3://models/x/", "tenant": "hospital"})
        assert answer["version"] == number
    assert administer(share_model={"tenant": "hospital", "name": "tumor", "version": "2"}) == {
        "model": "tumor",
        "version": "2",
        "tenant": None,
    }
    found = [(one["tenant"], one["version"], one["is_default"]) for one in administer(list_models={})["models"]]
    assert found == [(None, "2", True), ("hospital", "1", True)]
    administer(register_model={"card": {**card, "version": "3", "digest": "3" * 64}, "package_uri": "s3://models/x/"})
    assert administer(choose_default_model={"name": "tumor", "version": "3"}) == {"model": "tumor", "default": "3"}
    defaults = [one["version"] for one in administer(list_models={})["models"] if one["is_default"]]
    assert defaults == ["3", "1"]


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({}, "give exactly one action of list_tenants, list_usage, add_tenant"),
        ({"add_tenant": {"name": "a"}, "list_tenants": {}}, "give exactly one action"),
        ({"remove_everything": {}}, "remove_everything: is not known here"),
        ({"list_usage": {"days": 0}}, "list_usage.days: must"),
        ({"add_tenant": {"name": ""}}, "add_tenant.name: must have at least 1 characters"),
        ({"add_user": {"tenant": "x", **PERSON, "role": "god"}}, "add_user.role: must be 'viewer'"),
        ({"add_key": {"tenant": "x", "name": "y", "role": "viewer"}}, "There is no tenant of this name"),
        ({"register_builtin": {"name": "x"}}, "There is no built-in model of this name; there are stain-density"),
        ({"register_model": {"card": {}, "package_uri": "s3://b/p/"}}, "The card is not one that read_package made"),
        ({"share_model": {"tenant": "x", "name": "net", "version": "1"}}, "There is no tenant of this name"),
        ({"choose_default_model": {"name": "net", "version": "1"}}, "This owner has no model with this name"),
        (
            {"add_source": {"tenant": "x", "bucket": "b-1", "prefix": "labs"}},
            "The prefix of a source ends with a slash",
        ),
        ({"add_source": {"tenant": "x", "bucket": "s3://b"}}, "The bucket of a source is a bucket's name alone"),
        ({"add_source": {"tenant": "x", "bucket": "b-1"}}, "There is no tenant of this name"),
        ({"register_model": {"card": {}, "package_uri": "https://b/p/"}}, "register_model.package_uri: does not have"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(administer, action, told):
    answer = administer(**action)
    assert answer.keys() == {"error"}
    assert told in answer["error"]
    assert answer["error"].endswith(".")
    assert "\n" not in answer["error"]


def test_quotas_of_a_tenant_win_over_those_of_all(administer, database):
    administer(add_tenant={"name": "hospital"})
    administer(set_quotas={"jobs_waiting": 5, "top_priority": "normal"})
    set_now = administer(set_quotas={"tenant": "hospital", "jobs_waiting": 9, "bytes_stored": 10**13})
    expected = {"tiles_a_day": None, "bytes_stored": 10**13, "uploads_open": None, "jobs_waiting": 9}
    no_budget = {"dollars_a_month": None, "stops_at_budget": None}
    assert set_now == {"quotas": {**expected, **no_budget, "top_priority": "normal"}}
    assert administer(get_quotas={"tenant": "hospital"}) == set_now
    assert administer(get_quotas={})["quotas"]["jobs_waiting"] == 5
    administer(set_quotas={"tenant": "hospital", "jobs_waiting": None})
    assert administer(get_quotas={"tenant": "hospital"})["quotas"]["jobs_waiting"] == 5
    with psycopg.connect(database.system_dsn) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE quotas SET jobs_waiting = 0")


def test_a_budget_is_set_and_taken_away_again(administer):
    administer(add_tenant={"name": "hospital"})
    administer(set_quotas={"dollars_a_month": 500, "stops_at_budget": False})
    own = administer(set_quotas={"tenant": "hospital", "dollars_a_month": 99.5, "stops_at_budget": True})["quotas"]
    assert (own["dollars_a_month"], own["stops_at_budget"]) == (99.5, True)
    back = administer(set_quotas={"tenant": "hospital", "dollars_a_month": None, "stops_at_budget": None})["quotas"]
    assert (back["dollars_a_month"], back["stops_at_budget"]) == (500, False)
    for wrong in ({"dollars_a_month": -1}, {"stops_at_budget": "perhaps"}):
        assert next(iter(wrong)) in administer(set_quotas=wrong)["error"]


def test_quotas_are_changed_for_tenants_that_exist_and_to_what_they_can_be(administer):
    assert "There is no tenant of this name" in administer(set_quotas={"tenant": "nobody", "jobs_waiting": 1})["error"]
    assert "jobs_waiting" in administer(set_quotas={"jobs_waiting": -1})["error"]
    assert "top_priority" in administer(set_quotas={"top_priority": "urgent"})["error"]


def test_retention_is_set_for_one_tenant_and_changes_what_is_named(administer):
    administer(add_tenant={"name": "hospital"})
    nothing = {"slide_days": None, "result_days": None, "key_days": None}
    assert administer(get_retention={"tenant": "hospital"}) == {"retention": nothing}
    administer(set_retention={"tenant": "hospital", "slide_days": 3650, "result_days": 365})
    now = administer(set_retention={"tenant": "hospital", "result_days": None, "key_days": 30})
    assert now == {"retention": {"slide_days": 3650, "result_days": None, "key_days": 30}}
    assert administer(get_retention={"tenant": "hospital"}) == now


def test_retention_is_of_a_tenant_that_exists_and_of_a_day_at_least(administer):
    assert "no tenant of this name" in administer(set_retention={"tenant": "nobody", "slide_days": 1})["error"]
    assert "no tenant of this name" in administer(get_retention={"tenant": "nobody"})["error"]
    assert "set_retention.slide_days" in administer(set_retention={"tenant": "nobody", "slide_days": 0})["error"]
    assert "error" in administer(set_retention={"slide_days": 1})


def test_the_audit_log_names_no_key_and_no_tenant(administer, database):
    """It is never erased, and a key is often named after a person."""
    administer(add_tenant={"name": "hospital of Smith"})
    administer(add_key={"tenant": "hospital of Smith", "name": "Smith's laptop", "role": "analyst"})
    administer(revoke_key={"tenant": "hospital of Smith", "name": "Smith's laptop"})
    with psycopg.connect(database.server.make_dsn(SUPERUSER, database.name)) as connection:
        lines = connection.execute("SELECT action, subject, detail::text FROM audit_log ORDER BY seq").fetchall()
    assert [line[0] for line in lines] == ["tenant.add", "key.add", "key.revoke"]
    assert "Smith" not in str(lines)


def test_dead_letters_are_listed_by_ids_alone_and_redriven_once(administer, database):
    connections = Connections(database.system_dsn)
    sent_at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    for number, text in enumerate(('{"v": 9, "job_id": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}', "Jane Doe")):
        letter = ArrivedLetter(message_id=str(number), queue="plan", text=text, receives=6, sent_at=sent_at)
        PostgresSystemLedger(connections).settle_letter(letter)
    connections.close()
    first, second = administer(list_dead_letters={"queue": "plan"})["dead_letters"]
    assert (first["job_id"], first["outcome"]) == ("0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "kept")
    assert (first["sent_at"], first["receives"], first["redrive"]) == ("2026-11-30T12:00:00+00:00", 6, None)
    assert (second["job_id"], second["outcome"]) == (None, "unreadable")
    assert "Jane" not in json.dumps([first, second])
    redriven = administer(redrive={})["redriven"]
    assert [letter["redrive"] for letter in redriven] == ["nobody waits for it any more", "it cannot be read"]
    assert administer(redrive={}) == {"redriven": []}
    assert administer(list_dead_letters={}) == {"dead_letters": []}
    assert administer(list_dead_letters={"which": "all"})["dead_letters"] == redriven
    assert "queue" in administer(redrive={"queue": "unknown"})["error"]
