"""What holds for every route: roles, problems, openness, models, the description."""

from __future__ import annotations

import base64
import json
import logging
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lambdas import api, submit
from lambdas.api import make_whole_api
from lambdas.http.openapi import make_openapi_json
from tests.installation import ANALYST, STRANGER
from tests.lambdas.rest import Caller, rest_event, whole_handler
from wsi import errors
from wsi.errors import RejectReason

ROOT = Path(__file__).parents[2]
SOME = "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"

WRITES = [
    ("POST", "/uploads", {"files": [{"name": "a.svs", "size": 5}]}),
    ("POST", f"/uploads/{SOME}/parts", {"parts": [{"file": 0, "n": 1, "size": 5, "sha256": "0" * 64}]}),
    ("POST", f"/uploads/{SOME}/complete", None),
    ("DELETE", f"/uploads/{SOME}", None),
    ("POST", "/slides", {"s3_uri": "s3://customer-slides/a.svs"}),
    ("DELETE", f"/slides/{SOME}", None),
    ("PUT", f"/slides/{SOME}/legal-hold", {"held": True}),
    ("POST", f"/slides/{SOME}/archive", None),
    ("POST", f"/slides/{SOME}/restore", None),
    ("POST", "/jobs", {"slide_id": SOME, "model": "stain-density"}),
    ("POST", f"/jobs/{SOME}/cancel", None),
    ("POST", f"/jobs/{SOME}/retry", None),
    ("DELETE", f"/jobs/{SOME}", None),
    ("PUT", "/models/net/versions/1", {"files": [{"name": "card.json", "size": 5, "sha256": "0" * 64}]}),
    ("POST", "/models/net/versions/1/parts", {"parts": [{"file": 0, "n": 1, "size": 5, "sha256": "0" * 64}]}),
    ("POST", "/models/net/versions/1/complete", None),
    ("PUT", "/models/net/default", {"version": "1"}),
]
READS = ["/slides", f"/slides/{SOME}", "/jobs", f"/jobs/{SOME}", f"/jobs/{SOME}/events", "/models", "/usage", "/me"]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_viewer_writes_nothing(callers, method, path, body):
    reply = callers.viewer(method, path, body)
    assert (reply.status, reply.body["type"]) == (403, "/problems/forbidden")
    assert "Your role is viewer" in reply.body["detail"]


@pytest.mark.parametrize(("method", "path", "body"), [*WRITES, *(("GET", path, None) for path in READS)])
def test_nobody_gets_in_without_the_authorizers_word(callers, method, path, body):
    reply = callers.nobody(method, path, body)
    assert (reply.status, reply.body["type"]) == (401, "/problems/unauthenticated")


def test_health_and_the_description_are_open(callers):
    assert callers.nobody("GET", "/health").body == {
        "status": "ok",
        "realtime_url": "wss://push.example/graphql/realtime",
    }
    assert callers.nobody("GET", "/openapi.json").body["openapi"].startswith("3.1")


@pytest.mark.parametrize("role", ["viewer", "analyst", "admin"])
def test_each_caller_is_told_their_own_role(callers, role):
    reply = getattr(callers, role)("GET", "/me")
    assert (reply.status, reply.body["role"]) == (200, role)
    assert reply.body["subject"] == f"user:{role}"


class Failing:
    """A ledger that answers everything with one error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name):
        def fail(*_, **__):
            raise self.error

        return fail


@pytest.mark.parametrize(
    "error",
    [
        errors.Unauthenticated("s"),
        errors.Forbidden("s"),
        errors.NotFound("s"),
        errors.Conflict("s"),
        errors.Invalid("s"),
        errors.TooManyRequests("s"),
        errors.SlideRejected(RejectReason.NO_MPP, "s"),
        errors.SourceMissing("s"),
        errors.SourceChanged("s"),
        errors.SourceUnavailable("s"),
        errors.ModelError("s"),
    ],
    ids=lambda error: error.code,
)
def test_every_error_of_ours_is_a_problem_with_its_stable_type(wiring, error):
    caller = Caller(whole_handler(replace(wiring, ledger=Failing(error))), ANALYST)
    reply = caller("GET", f"/jobs/{SOME}")
    assert reply.media_type == "application/problem+json"
    assert reply.status == reply.body["status"] == error.status
    assert reply.body["type"] == f"/problems/{error.code}"
    assert reply.body["detail"] == "s"
    assert reply.body["traceparent"].startswith("00-")
    assert reply.body.get("reason") == getattr(error, "reason", None)
    assert ("retry-after" in reply.headers) == error.retryable


def test_an_unexpected_error_leaks_nothing(wiring):
    caller = Caller(whole_handler(replace(wiring, ledger=Failing(KeyError("password=secret")))), ANALYST)
    reply = caller("GET", f"/jobs/{SOME}")
    assert (reply.status, reply.body["type"], reply.media_type) == (
        500,
        "/problems/internal",
        "application/problem+json",
    )
    assert "secret" not in json.dumps(reply.body)
    assert "KeyError" not in json.dumps(reply.body)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"notify": {"email": "nobody"}}, "notify.email"),
        ({"notify": {"sms": "1"}}, "notify.sms"),
        ({"slide_id": "x"}, "slide_id"),
        ({"model": ""}, "model"),
        ({"priority": "urgent"}, "priority"),
        ({"mpp": 0}, "mpp"),
        ({"mpp": "NaN"}, "mpp"),
        ({"region": [0, 0, 0, 5]}, "region[2]"),
        ({"region": [0, 0, 5]}, "region[3]"),
        ({"options": {"min_tissue": 2}}, "options.min_tissue"),
        ({"options": {"overlap": 2}}, "options.overlap"),
    ],
)
def test_a_wrong_body_names_the_field_in_words(analyst, change, field):
    reply = analyst("POST", "/jobs", {"slide_id": SOME, "model": "stain-density", **change})
    assert (reply.status, reply.body["type"], reply.media_type) == (
        422,
        "/problems/invalid",
        "application/problem+json",
    )
    assert field in [error["field"] for error in reply.body["errors"]]
    assert field in reply.body["detail"]


@pytest.mark.parametrize("body", ["{", "[]", "null", '"text"', ""])
def test_a_body_that_is_no_object_is_a_problem(analyst, body):
    reply = analyst("POST", "/jobs", body)
    assert (reply.status, reply.media_type) == (422, "application/problem+json")


@pytest.mark.parametrize(
    "body", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, '{"files": [{"name": "a", "size": ' + "1" * 5000 + "}]}"]
)
def test_json_that_can_not_be_read_is_the_callers_fault(analyst, body):
    reply = analyst("POST", "/uploads", body)
    assert (reply.status, reply.body["type"]) == (422, "/problems/invalid")


def test_bytes_that_are_not_utf8_are_the_callers_fault(wiring):
    event = rest_event("POST", "/api/v1/wsi/uploads", body=base64.b64encode(b"\xff\x00").decode(), actor=ANALYST)
    answer = whole_handler(wiring)({**event, "isBase64Encoded": True}, None)
    assert (answer["statusCode"], json.loads(answer["body"])["type"]) == (422, "/problems/invalid")


@pytest.mark.parametrize(
    "media_type", ["multipart/form-data", "application/x-www-form-urlencoded", "text/plain", "application/JSON"]
)
def test_only_json_bodies_are_taken(analyst, media_type):
    reply = analyst("POST", "/jobs", "a=b", headers={"Content-Type": media_type})
    assert (reply.status, reply.body["type"]) == (415, "/problems/unsupported_media_type")


@pytest.mark.parametrize(
    ("path", "query"),
    [("/slides", "q"), ("/jobs", "q"), ("/jobs", "label"), ("/jobs", "model"), ("/models/stain-density", "version")],
)
def test_text_with_nul_is_refused_before_sql_does(analyst, path, query):
    reply = analyst("GET", path, query={query: "a\0b"})
    assert (reply.status, reply.body["errors"][0]["field"]) == (422, query)


def test_text_that_is_too_long_is_told_in_characters(analyst):
    long = analyst("POST", "/jobs", {"slide_id": SOME, "model": "stain-density", "label": "x" * 201})
    assert "label: must have at most 200 characters" in long.body["detail"]


@pytest.mark.parametrize("field", ["model", "model_version", "label"])
def test_a_job_with_nul_in_its_text_is_refused_before_sql_does(analyst, field):
    reply = analyst("POST", "/jobs", {"slide_id": SOME, "model": "stain-density", field: "a\0b"})
    assert (reply.status, reply.body["errors"][0]["field"]) == (422, field)


def test_a_body_of_another_media_type_is_a_problem(analyst):
    reply = analyst("POST", "/jobs", "<xml/>", headers={"Content-Type": "application/xml"})
    assert reply.media_type == "application/problem+json"
    assert reply.status in (415, 422)


def test_an_id_that_is_none_is_a_problem(analyst):
    reply = analyst("GET", "/jobs/none")
    assert (reply.status, reply.media_type) == (422, "application/problem+json")


def test_an_unknown_route_is_a_problem(analyst):
    reply = analyst("GET", "/batches", query={"a": "b"})
    assert (reply.status, reply.body["type"]) == (404, "/problems/no_such_route")


def test_a_filter_that_does_not_exist_is_not_ignored(analyst):
    reply = analyst("GET", "/jobs", query={"stauts": "FAILED"})
    assert reply.status == 422
    assert "stauts" in reply.body["detail"]


@pytest.mark.parametrize("limit", ["0", "101", "x"])
def test_pages_have_a_bound(analyst, limit):
    assert analyst("GET", "/jobs", query={"limit": limit}).status == 422


def test_models_are_listed_with_their_cards(callers, installation):
    second = installation.ledger.get_model(ANALYST, "stain-density")
    installation.ledger.register_model(replace(second, name="zeta", digest="z" * 64))
    first_page = callers.viewer("GET", "/models", query={"limit": "1"}).body
    last_page = callers.viewer("GET", "/models", query={"limit": "1", "cursor": first_page["next_cursor"]}).body
    assert [page["items"][0]["name"] for page in (first_page, last_page)] == ["stain-density", "zeta"]
    assert last_page["next_cursor"] is None
    got = callers.viewer("GET", "/models/stain-density", query={"version": "1.1"}).body
    assert got["card"]["mpp"] == 0.5
    assert callers.viewer("GET", "/models/unknown").status == 404


def test_no_log_line_holds_a_name_a_label_or_a_url(analyst, installation, caplog):
    with caplog.at_level(logging.DEBUG):
        opened = analyst("POST", "/uploads", {"files": [{"name": "Jane-Doe.svs", "size": 5}]}).body
        asked = {"parts": [{"file": 0, "n": 1, "size": 5, "sha256": "0" * 64}]}
        analyst("POST", f"/uploads/{opened['slide_id']}/parts", asked)
        analyst("POST", f"/uploads/{opened['slide_id']}/complete")
    ours = [record for record in caplog.records if record.name.split(".")[0] in ("wsi", "adapters", "api")]
    assert ours
    assert not any("Jane" in str(vars(record)) or "memory://" in str(vars(record)) for record in ours)


def test_two_installations_in_one_process_answer_side_by_side(wiring, installation):
    mine, theirs = Caller(whole_handler(wiring), ANALYST), Caller(whole_handler(wiring), STRANGER)
    slide = installation.ready()
    wrong: list[int] = []

    def ask(caller, expected):
        statuses = [caller("GET", f"/slides/{slide}").status for _ in range(40)]
        wrong.extend(status for status in statuses if status != expected)

    threads = [threading.Thread(target=ask, args=each) for each in [(mine, 200), (theirs, 404)] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_committed_description_is_the_generated_one():
    generated = make_openapi_json(make_whole_api())
    assert (ROOT / "docs" / "openapi.json").read_text() == generated, "run: make openapi"


def test_every_reference_of_the_description_leads_somewhere():
    text = make_openapi_json(make_whole_api())
    schemas = json.loads(text)["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) <= set(schemas)


def test_the_description_has_exactly_the_routes_of_this_version():
    paths = json.loads(make_openapi_json(make_whole_api()))["paths"]
    base = "/api/v1/wsi"
    assert {(method.upper(), path.removeprefix(base)) for path, methods in paths.items() for method in methods} == {
        ("PUT", "/models/{name}/default"),
        ("PUT", "/models/{name}/versions/{version}"),
        ("GET", "/models/{name}/versions/{version}"),
        ("POST", "/models/{name}/versions/{version}/parts"),
        ("GET", "/models/{name}/versions/{version}/parts"),
        ("POST", "/models/{name}/versions/{version}/complete"),
        ("POST", "/uploads"),
        ("POST", "/uploads/{slide_id}/parts"),
        ("GET", "/uploads/{slide_id}/parts"),
        ("POST", "/uploads/{slide_id}/complete"),
        ("DELETE", "/uploads/{slide_id}"),
        ("POST", "/slides"),
        ("GET", "/slides"),
        ("GET", "/slides/{slide_id}"),
        ("PATCH", "/slides/{slide_id}"),
        ("DELETE", "/slides/{slide_id}"),
        ("POST", "/slides/{slide_id}/archive"),
        ("PUT", "/slides/{slide_id}/legal-hold"),
        ("POST", "/slides/{slide_id}/restore"),
        ("GET", "/slides/{slide_id}/pyramid"),
        ("GET", "/slides/{slide_id}/thumbnail"),
        ("GET", "/slides/{slide_id}/tiles/{level}/{x}_{y}.jpeg"),
        ("POST", "/jobs"),
        ("GET", "/jobs"),
        ("GET", "/jobs/{job_id}"),
        ("GET", "/jobs/{job_id}/events"),
        ("GET", "/jobs/{job_id}/partial"),
        ("GET", "/jobs/{job_id}/results"),
        ("GET", "/jobs/{job_id}/deliveries"),
        ("GET", "/usage"),
        ("GET", "/webhooks/secret"),
        ("GET", "/audit"),
        ("POST", "/webhooks/secret/rotate"),
        ("DELETE", "/jobs/{job_id}"),
        ("POST", "/jobs/{job_id}/cancel"),
        ("POST", "/jobs/{job_id}/retry"),
        ("GET", "/models"),
        ("GET", "/models/{name}"),
        ("GET", "/me"),
        ("GET", "/admin/people"),
        ("PATCH", "/admin/people/{person_id}"),
        ("POST", "/admin/people/{person_id}/move"),
        ("POST", "/admin/people/{person_id}/hand-over"),
        ("GET", "/admin/invitations"),
        ("POST", "/admin/invitations"),
        ("DELETE", "/admin/invitations/{invitation_id}"),
        ("GET", "/admin/keys"),
        ("POST", "/admin/keys"),
        ("POST", "/admin/keys/{key_id}/rotate"),
        ("PATCH", "/admin/keys/{key_id}"),
        ("DELETE", "/admin/keys/{key_id}"),
        ("GET", "/admin/quotas"),
        ("PATCH", "/admin/quotas"),
        ("GET", "/admin/tenants"),
        ("POST", "/admin/tenants"),
        ("POST", "/admin/tenants/rename"),
        ("POST", "/admin/tenants/suspend"),
        ("POST", "/admin/tenants/resume"),
        ("POST", "/admin/models"),
        ("POST", "/admin/models/builtin"),
        ("GET", "/admin/sources"),
        ("POST", "/admin/sources"),
        ("POST", "/admin/sources/remove"),
        ("GET", "/admin/retention"),
        ("PATCH", "/admin/retention"),
        ("GET", "/admin/dead-letters"),
        ("POST", "/admin/dead-letters/redrive"),
        ("GET", "/health"),
        ("GET", "/openapi.json"),
    }


def test_the_api_describes_dry_runs_without_numpy_and_leaves_them_to_their_function(wiring):
    code = "import sys; from lambdas.api import make_whole_api; from lambdas.http.openapi import make_openapi_json; "
    code += "print('dry_run' in make_openapi_json(make_whole_api()), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["True", "False"]
    assert Caller(api.make_handler(wiring), ANALYST)("POST", "/jobs", {}).status == 404
    assert Caller(submit.make_handler(wiring), ANALYST)("GET", "/jobs").status == 404


@pytest.mark.parametrize(
    "module", ["lambdas.api", "lambdas.submit", "lambdas.authorizer", "lambdas.relay", "lambdas.sweep"]
)
def test_the_light_handlers_load_no_numpy(module):
    code = f"import sys, {module}; print(sorted({{'numpy', 'obstore', 'imagecodecs', 'tifffile'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"model": "a"', "The request is not valid. body: is not JSON."),
        ('{"model": "\\ud800"}', "model: must be text in UTF-8."),
        ('{"model": 5, "priority": "soon"}', "priority: must be 'high', 'normal' or 'low'."),
    ],
)
def test_what_is_wrong_with_a_body_is_told_in_plain_words(analyst, body, said):
    reply = analyst("POST", "/jobs", body)
    assert reply.status == 422
    assert said in reply.body["detail"]
