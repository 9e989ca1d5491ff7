"""Quotas as callers of the API meet them."""

from __future__ import annotations

import json

import pytest

from lambdas.api import make_whole_api
from lambdas.http.openapi import make_openapi_json
from tests.installation import ANALYST
from tests.lambdas.jobs import submit
from wsi.records.jobs import Priority
from wsi.records.quotas import Quotas


@pytest.fixture
def limit(installation):
    def set_quotas(**quotas):
        installation.ledger.books.quotas[ANALYST.tenant] = Quotas(**quotas)

    return set_quotas


def test_beyond_a_quota_the_answer_names_the_limit_and_when_to_ask_again(analyst, installation, limit):
    limit(jobs_waiting=1)
    assert submit(analyst, installation.ready(), force=True).status == 202
    refused = submit(analyst, installation.ready(), force=True)
    assert (refused.status, refused.body["type"]) == (429, "/problems/too_many_requests")
    assert "limit of 1 waiting jobs" in refused.body["detail"]
    assert refused.headers["retry-after"] == "60"


def test_tiles_are_counted_before_they_are_planned(analyst, installation, limit):
    """The slide has 20,000 x 10,000 px at 0.5 µm, half of them tissue; the model takes tiles of 256 px."""
    limit(tiles_a_day=1_525)
    refused = submit(analyst, installation.ready())
    assert "today's jobs have 0, and this one would add about 1,526" in refused.body["detail"]
    limit(tiles_a_day=1_526)
    assert submit(analyst, installation.ready()).status == 202


def test_a_quarter_of_the_slide_is_a_quarter_of_the_tiles(analyst, installation, limit):
    limit(tiles_a_day=382)
    assert submit(analyst, installation.ready(), region=[0, 0, 10_000, 5_000]).status == 202


def test_a_tenant_without_the_right_to_it_is_refused_urgent_jobs(analyst, installation, limit):
    limit(top_priority=Priority.NORMAL)
    refused = submit(analyst, installation.ready(), priority="high")
    assert (refused.status, refused.body["type"]) == (403, "/problems/forbidden")
    assert "may not ask for priority high: ask for normal" in refused.body["detail"]
    assert submit(analyst, installation.ready(), priority="normal").status == 202


def test_uploads_beyond_a_quota_are_refused_before_a_byte_is_sent(analyst, limit):
    limit(bytes_stored=10)
    refused = analyst("POST", "/uploads", {"files": [{"name": "a.svs", "size": 11}]})
    assert (refused.status, refused.headers["retry-after"]) == (429, "3600")
    assert "limit of 10 stored bytes" in refused.body["detail"]


def test_the_description_names_the_answer():
    paths = json.loads(make_openapi_json(make_whole_api()))["paths"]
    limited = {path for path, methods in paths.items() for method in methods.values() if "429" in method["responses"]}
    assert {path.removeprefix("/api/v1/wsi") for path in limited} == {"/jobs", "/jobs/{job_id}/retry", "/uploads"}
