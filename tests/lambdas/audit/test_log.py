"""`GET /audit`: who reads it, in which pages, and what of it a spreadsheet and a verifier get."""

from __future__ import annotations

import csv
import io

from lambdas.routes.audit import NEXT_CURSOR
from tests.installation import ADMIN
from tests.lambdas.rest import BASE, rest_event, whole_handler
from wsi.audit.chain import verify_chain
from wsi.audit.export import read_lines


def read_csv(wiring, **query):
    event = rest_event("GET", f"{BASE}/audit", query={"format": "csv", **query}, actor=ADMIN)
    answer = whole_handler(wiring)(event, None)
    assert answer["statusCode"] == 200
    assert answer["multiValueHeaders"]["Content-Type"] == ["text/csv"]
    return answer["body"], answer["multiValueHeaders"].get(NEXT_CURSOR)


def test_admins_read_the_log_and_nobody_else_does(callers, slide):
    assert [callers.viewer("GET", "/audit").status, callers.analyst("GET", "/audit").status] == [403, 403]
    first = callers.admin("GET", "/audit").body["items"]
    assert [item["action"] for item in first] == ["slide.complete", "slide.create"]
    assert callers.stranger("GET", "/audit").body["items"] == []
    assert callers.admin("GET", "/audit").body["items"][0]["action"] == "audit.view"


def test_actors_have_the_names_that_admins_know_them_by(callers, installation):
    ada = installation.ledger.add_user(ADMIN.tenant, "issuer", "sub", ADMIN.role, "ada@hospital.example")
    callers.of(ada)("GET", "/slides")
    (item,) = callers.admin("GET", "/audit", query={"actor": ada.subject}).body["items"]
    assert (item["actor_name"], item["action"]) == ("ada@hospital.example", "slide.list")


def test_the_log_is_paged_and_filtered(callers, slide):
    first = callers.admin("GET", "/audit", query={"limit": "1"}).body
    assert [item["action"] for item in first["items"]] == ["slide.complete"]
    rest = callers.admin("GET", "/audit", query={"cursor": first["next_cursor"]}).body
    assert ([item["action"] for item in rest["items"]], rest["next_cursor"]) == (["slide.create"], None)
    only = callers.admin("GET", "/audit", query={"action": "slide.create", "subject": str(slide)}).body["items"]
    assert only == rest["items"]
    for query in ({"from": "2099-01-01T00:00:00Z"}, {"to": "2001-01-01T00:00:00Z"}, {"actor": "user:x"}):
        assert callers.admin("GET", "/audit", query=query).body["items"] == []
    for query in ({"cursor": "x"}, {"from": "2099-01-01"}, {"limit": "1001"}, {"format": "xml"}):
        assert callers.admin("GET", "/audit", query=query).status == 422


def test_csv_is_safe_for_spreadsheets_and_can_be_verified(callers, wiring, installation, slide):
    formulas = ("=cmd|' /C calc'!A0@1", "'quoted", "-2", "+a", "two\nlines", "@1")
    for subject in formulas:
        installation.ledger.audit(ADMIN, "model.add", subject, {"mpp": 0.5, "": None})
    text, following = read_csv(wiring)
    assert following is None
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or (cell[:1] == "-" and cell != "-2")]
    lines = read_lines(text)
    assert {line.subject for line in lines} >= set(formulas)
    assert verify_chain(lines, chain=ADMIN.tenant).faults == ()
    assert verify_chain(read_lines(text.replace("-2", "-3")), chain=ADMIN.tenant).faults != ()


def test_a_page_of_csv_names_the_next_one_in_a_header(wiring, slide):
    text, following = read_csv(wiring, limit="1")
    assert len(read_lines(text)) == 1
    assert following == ["2"]
