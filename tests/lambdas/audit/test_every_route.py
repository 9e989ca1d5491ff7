"""Every route is recorded in the audit log, or in a table with the reason why not."""

from __future__ import annotations

import json

import pytest

from lambdas.api import make_whole_api
from lambdas.http.auditing import AUDITED
from lambdas.http.openapi import make_openapi_json
from tests.lambdas.audit.calls import CALLS, ON_POSTGRES, UNRECORDED, Scene
from tests.lambdas.rest import BASE

DESCRIBED = json.loads(make_openapi_json(make_whole_api()))["paths"]
ROUTES = [(method.upper(), path.removeprefix(BASE)) for path, methods in DESCRIBED.items() for method in methods]


@pytest.fixture
def scene(installation, wiring, tmp_path):
    return Scene(installation, wiring, tmp_path)


def test_every_route_is_recorded_or_says_why_not():
    assert CALLS.keys() | UNRECORDED.keys() | ON_POSTGRES == set(ROUTES), (
        "give a new route a row in tests/lambdas/audit/calls.py"
    )
    assert not CALLS.keys() & UNRECORDED.keys()
    assert all(UNRECORDED.values())


def test_every_audited_route_exists():
    recorded = {(method, path.replace("<", "{").replace(">", "}")) for method, path in AUDITED}
    assert recorded <= CALLS.keys() | ON_POSTGRES


@pytest.mark.parametrize("route", sorted(CALLS), ids=" ".join)
def test_a_request_that_succeeds_is_in_the_log(scene, route):
    action, prepare = CALLS[route]
    ask = prepare(scene)
    books = scene.installation.ledger.books
    books.audit_marks.clear()  # what was needed first may have shown the same
    before = len(books.audit)
    assert ask() < 300
    lines = [line for line in books.audit[before:] if line.action == action]
    assert len(lines) == 1, [line.action for line in books.audit[before:]]
    assert lines[0].actor.subject.startswith("user:")
    assert lines[0].subject


@pytest.mark.parametrize("path", ["/slides/{}", "/slides/{}/thumbnail", "/jobs/{}"])
def test_a_request_that_is_refused_shows_nothing_and_writes_nothing(callers, installation, slide, path):
    before = len(installation.ledger.books.audit)
    assert callers.stranger("GET", path.format(slide)).status == 404
    assert len(installation.ledger.books.audit) == before


def test_no_line_holds_the_name_of_a_slide_a_file_or_a_person(scene, installation):
    for route in sorted(CALLS):
        if route != ("PUT", "/models/{name}/versions/{version}"):  # is part of the next ones
            CALLS[route][1](scene)()
    text = str([(line.subject, line.detail) for line in installation.ledger.books.audit])
    for name in ("scan", "svs", "card.json", "lab.example"):
        assert name not in text
