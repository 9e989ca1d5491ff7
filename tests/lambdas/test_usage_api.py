"""Usage as callers of the API read it, and the budget as they meet it."""

from __future__ import annotations

import pytest

from lambdas import notify as notify_function
from tests.fakes.notices import MemoryMail, MemoryWebhooks
from tests.installation import ANALYST, HOSPITAL
from tests.lambdas.jobs import finish_shard, plan, submit
from tests.lambdas.test_queue_handlers import make_sweep, sqs_event
from wsi.records.identity import Role
from wsi.records.quotas import Quotas

HOUR = 3600
ADMIN = "boss@hospital.example"


@pytest.fixture
def analysed(analyst, installation):
    """Have one shard of 10 tiles computed in an hour; a GPU hour costs a dollar."""
    job = submit(analyst, installation.ready(), force=True).body["job_id"]
    plan(installation, job, (10, 5))
    finish_shard(installation, job, 0, 10, seconds=HOUR)
    return job


def test_an_admin_reads_the_months_usage_by_each_key(callers, analysed, installation):
    installation.ledger.books.names[ANALYST.subject] = (HOSPITAL, "ada@hospital.example")
    by_day = callers.admin("GET", "/usage").body
    assert (by_day["by"], by_day["first"], by_day["last"]) == ("day", "2026-01-01", "2026-01-01")
    (day,) = by_day["items"]
    assert (day["day"], day["tiles"], day["model"], day["person"]) == ("2026-01-01", 10, None, None)
    assert day["worker_seconds"] == pytest.approx(HOUR, abs=1)
    assert day["dollars"] == by_day["dollars"] == pytest.approx(1, abs=0.01)
    (model,) = callers.admin("GET", "/usage", query={"by": "model"}).body["items"]
    assert (model["model"], model["model_version"], model["day"]) == ("stain-density", "1.1", None)
    (person,) = callers.admin("GET", "/usage", query={"by": "person"}).body["items"]
    assert (person["person"], person["requester"]) == ("ada@hospital.example", "user:analyst")


def test_others_read_their_own_usage_alone(callers, analysed):
    for caller in (callers.analyst, callers.viewer):
        refused = caller("GET", "/usage")
        assert (refused.status, refused.body["type"]) == (403, "/problems/forbidden")
    assert callers.analyst("GET", "/usage", query={"mine": "true", "by": "model"}).body["tiles"] == 10
    none = callers.viewer("GET", "/usage", query={"mine": "true"}).body
    assert (none["items"], none["tiles"], none["budget"]) == ([], 0, None)


def test_a_report_has_the_days_that_were_asked_for(callers, analysed):
    def read(first: str, last: str):
        return callers.admin("GET", "/usage", query={"from": first, "to": last})

    assert read("2026-01-01", "2026-01-31").body["tiles"] == 10
    assert read("2025-12-01", "2025-12-31").body["items"] == []
    backwards = read("2026-01-02", "2026-01-01")
    assert (backwards.status, "first day is after its last" in backwards.body["detail"]) == (422, True)
    assert "at most 366 days" in read("2024-01-01", "2026-01-01").body["detail"]
    wrong = read("yesterday", "2026-01-01")
    assert (wrong.status, wrong.body["errors"][0]["field"]) == (422, "from")
    assert callers.admin("GET", "/usage", query={"by": "slide"}).status == 422


def test_the_table_holds_no_formula(callers, analysed, installation):
    installation.ledger.books.names[ANALYST.subject] = (HOSPITAL, "=cmd()")
    reply = callers.admin("GET", "/usage", query={"by": "person", "format": "csv"})
    assert reply.media_type == "text/csv; charset=utf-8"
    assert reply.body.splitlines()[0] == "person,requester,tiles,worker_seconds,dollars"
    assert reply.body.splitlines()[1].startswith("'=cmd(),user:analyst,10,3600.")
    days = callers.admin("GET", "/usage", query={"format": "csv"}).body
    assert days.splitlines()[1].startswith("2026-01-01,10,3600.")


def test_admins_see_the_budget(callers, analysed, installation):
    assert callers.admin("GET", "/usage").body["budget"] is None
    installation.ledger.books.quotas[HOSPITAL] = Quotas(dollars_a_month=1.25)
    budget = callers.admin("GET", "/usage").body["budget"]
    assert (budget["month"], budget["dollars_a_month"], budget["stops"]) == ("2026-01-01", 1.25, False)
    assert (budget["dollars"], budget["share"]) == (pytest.approx(1, abs=0.01), pytest.approx(0.8, abs=0.01))


def test_beyond_the_budget_new_jobs_and_retries_are_refused(analyst, analysed, installation):
    installation.ledger.books.quotas[HOSPITAL] = Quotas(dollars_a_month=1.0, stops_at_budget=True)
    assert analyst("POST", f"/jobs/{analysed}/cancel").status == 200
    for refused in (submit(analyst, installation.ready(seed=1)), analyst("POST", f"/jobs/{analysed}/retry")):
        assert (refused.status, refused.body["type"]) == (429, "/problems/too_many_requests")
        assert "budget of 1.00 dollars a month is used" in refused.body["detail"]
        assert int(refused.headers["retry-after"]) == pytest.approx(31 * 86_400 - HOUR, abs=5)


def test_the_sweep_has_admins_told_by_mail_at_80_percent(analysed, installation):
    ledger, mail = installation.ledger, MemoryMail()
    ledger.add_user(HOSPITAL, "https://issuer.example", "boss", Role.ADMIN, ADMIN)
    ledger.books.quotas[HOSPITAL] = Quotas(dollars_a_month=1.25)
    sweep = make_sweep(installation)
    assert sweep({}, None)["budgets_told"] == 1
    assert sweep({}, None)["budgets_told"] == 0
    (body,) = [entry.row.body for entry in ledger.books.outbox if entry.row.topic == "notify"]
    handle = notify_function.make_handler(
        ledger=ledger, webhooks=MemoryWebhooks(), mail=mail, page_url="https://page.example"
    )
    for _ in range(2):
        assert handle(sqs_event(body), None) == {"batchItemFailures": []}
    ((to, subject, text),) = mail.sent
    assert (to, subject) == (ADMIN, "Your organisation's budget for January 2026 is 80 % used")
    assert text.endswith("\n\nhttps://page.example/usage\n")
