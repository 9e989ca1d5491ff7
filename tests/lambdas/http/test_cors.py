"""Which pages may read the API's answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.settings.processes import ApiSettings
from tests.installation import ANALYST
from tests.lambdas.rest import Caller, whole_handler

PAGE = "https://wsi.example.org"
LEAVE = "access-control-allow-origin"


@pytest.fixture
def caller(wiring):
    return Caller(whole_handler(replace(wiring, page_origins=frozenset({PAGE, "http://localhost:5173"}))), ANALYST)


@pytest.mark.parametrize("path", ["/jobs", "/jobs/no-id", "/no-such-address", "/health"])
def test_a_named_page_reads_answers_and_refusals(caller, path):
    reply = caller("GET", path, headers={"origin": PAGE})
    assert (reply.headers[LEAVE], reply.headers["vary"]) == (PAGE, "Origin")


def test_also_the_refusal_of_a_body_that_nobody_reads(caller):
    reply = caller(
        "POST", "/jobs", "a=1", headers={"Origin": PAGE, "Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (reply.status, reply.headers[LEAVE]) == (415, PAGE)
    assert reply.media_type == "application/problem+json"


@pytest.mark.parametrize(
    "origin",
    [
        "https://wsiXexample.org",
        f"{PAGE}.evil.example",
        f"{PAGE}/",
        "http://wsi.example.org",
        "null",
        "",
        "https://wsi",
    ],
)
def test_no_other_page_reads_anything_and_caches_know_that_it_matters(caller, origin):
    reply = caller("GET", "/jobs", headers={"Origin": origin})
    assert reply.status == 200
    assert LEAVE not in reply.headers
    assert reply.headers["vary"] == "Origin"


def test_an_api_for_its_own_page_alone_says_nothing_of_origins(analyst):
    reply = analyst("GET", "/jobs", headers={"Origin": PAGE})
    assert not {LEAVE, "vary"} & set(reply.headers)


def test_origins_travel_as_one_string():
    settings = ApiSettings(region="x", database_dsn="x", slides_bucket="x", results_bucket="x", models_bucket="x")
    assert settings.origins == frozenset()
    named = settings.model_copy(update={"page_origins": f"{PAGE},http://localhost:5173"})
    assert ApiSettings.from_environ(named.make_environ()).origins == {PAGE, "http://localhost:5173"}
