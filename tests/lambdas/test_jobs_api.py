"""Jobs over REST events."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

import numpy as np
import pytest

from tests.installation import ANALYST, INSPECTION, SCALING
from tests.lambdas.jobs import finish, finish_shard, plan, submit
from wsi import keys
from wsi.errors import FailReason
from wsi.inspection.mask import SlideMask
from wsi.inspection.stored_mask import StoredMask
from wsi.inspection.tissue import SETTINGS
from wsi.jobs.expecting import STITCHING_SECONDS
from wsi.records.identity import Role
from wsi.records.slides import Choice
from wsi.tracing import make_traceparent


def test_a_job_is_accepted_and_pinned(analyst, slide, installation):
    reply = submit(analyst, slide, priority="high", region=[0, 0, 1000, 1000], label="trial 7")
    assert reply.status == 202
    job = reply.body
    assert (job["status"], job["version"], job["progress"], job["replayed"], job["reused"]) == (
        "QUEUED",
        1,
        0.0,
        False,
        False,
    )
    assert (job["model_version"], len(job["model_digest"])) == ("1.1", 64)
    assert job["options"] == {
        "mpp": None,
        "region": [0, 0, 1000, 1000],
        "min_tissue": 0.1,
        "allow_upsampling": False,
    }
    got = analyst("GET", f"/jobs/{job['job_id']}").body
    also = {"replayed", "reused", "shared", "warnings"} | (
        asked_alone := {"waiting_for", "expected_start_at", "expected_end_at"}
    )
    assert {name: value for name, value in got.items() if name not in asked_alone} == {
        name: value for name, value in job.items() if name not in also
    }


def test_a_job_says_who_asked_for_it_and_at_its_end_what_it_cost(callers, slide, installation):
    ada = installation.ledger.add_user(ANALYST.tenant, "issuer", "sub", Role.ANALYST, "ada@hospital.example")
    scanner = installation.ledger.add_api_key(ANALYST.tenant, "abc123", "0" * 64, Role.ANALYST, "scanner")
    of_person, of_key = callers.of(ada), callers.of(scanner)
    job = submit(of_person, slide).body
    assert (job["created_by"], job["worker_seconds"], job["dollars"]) == ("ada@hospital.example", 0, None)
    plan(installation, job["job_id"], (10,))
    finish_shard(installation, job["job_id"], 0, 10, seconds=36)
    assert of_person("GET", f"/jobs/{job['job_id']}").body["dollars"] is None
    assert installation.ledger.commit_results(UUID(job["job_id"]), [])
    other = submit(of_key, slide, options={"fast": True}).body
    assert callers.viewer("POST", f"/jobs/{other['job_id']}/cancel").status == 403
    cancelled = of_person("POST", f"/jobs/{other['job_id']}/cancel").body
    assert (cancelled["created_by"], cancelled["dollars"]) == ("scanner", 0)
    listed = {item["created_by"]: item for item in callers.analyst("GET", "/jobs").body["items"]}
    assert listed.keys() == {"ada@hospital.example", "scanner"}
    assert listed["ada@hospital.example"]["worker_seconds"] == pytest.approx(36, abs=0.01)
    assert listed["ada@hospital.example"]["dollars"] == pytest.approx(0.01, rel=0.01)  # at a dollar an hour
    mine = of_key("GET", "/jobs", query={"mine": "true"}).body["items"]
    assert [item["job_id"] for item in mine] == [other["job_id"]]


def test_leave_to_enlarge_and_fast_decoding_are_options_that_make_another_job(analyst, slide, installation):
    first = submit(analyst, slide).body
    finish(installation, first["job_id"])
    fast = submit(analyst, slide, options={"fast": True}).body
    assert (fast["reused"], fast["options"]["fast"]) == (False, True)
    assert submit(analyst, slide, options={"fast": False}).body["job_id"] == first["job_id"]
    coarse = {"slide_id": str(slide), "model": "stain-density", "mpp": 1.0}
    refused = analyst("POST", "/jobs", coarse)
    assert (refused.status, refused.body["reason"]) == (422, "slide_too_coarse")
    allowed = analyst("POST", "/jobs", {**coarse, "options": {"allow_upsampling": True}})
    assert (allowed.status, allowed.body["options"]["allow_upsampling"]) == (202, True)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"region": [90_000_000, 0, 10, 10]}, "/problems/invalid"),
        ({"mpp": 15.0}, "/problems/slide_rejected"),
    ],
    ids=["a region off the slide", "a scale that the model cannot take"],
)
def test_what_planning_would_refuse_is_refused_when_it_is_asked(analyst, slide, asked, kind):
    for dry_run in ({}, {"dry_run": "true"}):
        body = {"slide_id": str(slide), "model": "stain-density", **asked}
        reply = analyst("POST", "/jobs", body, query=dry_run)
        assert (reply.status, reply.body["type"]) == (422, kind)
    assert analyst("GET", "/jobs").body["items"] == []


def test_the_trace_of_the_request_goes_on_in_the_job(analyst, slide):
    given = make_traceparent()
    body = {"slide_id": str(slide), "model": "stain-density"}
    job = analyst("POST", "/jobs", body, headers={"Traceparent": given}).body
    assert job["traceparent"].split("-")[1] == given.split("-")[1]


def test_the_mpp_stated_with_the_slide_is_pinned_unless_the_job_states_its_own(analyst, installation):
    slide = installation.ready(mpp=0.25)
    assert submit(analyst, slide).body["options"]["mpp"] == 0.25
    assert submit(analyst, slide, mpp=0.3).body["options"]["mpp"] == 0.3


def test_the_same_key_with_the_same_body_gives_the_first_job(analyst, slide):
    first = submit(analyst, slide, key="k1").body
    again = submit(analyst, slide, key="k1").body
    assert (again["job_id"], again["replayed"]) == (first["job_id"], True)
    assert submit(analyst, slide, key="k2", force=True).body["job_id"] != first["job_id"]
    other = submit(analyst, slide, key="k1", label="other")
    assert (other.status, other.body["type"]) == (409, "/problems/conflict")


def test_a_finished_equal_job_is_the_answer_unless_forced(analyst, slide, installation):
    first = submit(analyst, slide).body["job_id"]
    finish(installation, first)
    again = submit(analyst, slide)
    assert (again.status, again.body["job_id"], again.body["reused"]) == (202, first, True)
    assert submit(analyst, slide, force=True).body["job_id"] != first
    assert submit(analyst, slide, options={"min_tissue": 0.5}).body["job_id"] != first
    assert submit(analyst, slide, mpp=0.4).body["job_id"] != first


def test_an_equal_job_under_way_is_the_answer_unless_forced(analyst, slide, installation):
    first = submit(analyst, slide)
    assert (first.body["shared"], first.body["reused"]) == (False, False)
    again = submit(analyst, slide, key="another")
    assert (again.status, again.body["job_id"]) == (202, first.body["job_id"])
    assert (again.body["shared"], again.body["reused"], again.body["replayed"]) == (True, False, False)
    assert submit(analyst, slide, force=True).body["job_id"] != first.body["job_id"]
    assert submit(analyst, slide, options={"min_tissue": 0.5}).body["job_id"] != first.body["job_id"]


def test_a_job_that_is_tried_again_twice_is_computed_once(analyst, slide):
    first = submit(analyst, slide).body["job_id"]
    analyst("POST", f"/jobs/{first}/cancel")
    retries = [analyst("POST", f"/jobs/{first}/retry").body for _ in range(2)]
    assert [retry["shared"] for retry in retries] == [False, True]
    assert retries[0]["job_id"] == retries[1]["job_id"] != first


def test_another_slide_with_the_same_bytes_shares_the_answer_but_not_with_another_stated_mpp(analyst, installation):
    first = submit(analyst, installation.ready()).body["job_id"]
    finish(installation, first)
    assert submit(analyst, installation.ready()).body["job_id"] == first
    assert submit(analyst, installation.ready(mpp=0.4)).body["job_id"] != first
    assert submit(analyst, installation.ready(seed=1)).body["job_id"] != first


def test_jobs_over_other_pictures_of_the_same_bytes_share_no_answer(analyst, installation):
    choices = [None, Choice(focal_plane=1), Choice(focal_plane=2), Choice(optical_path="2", focal_plane=2)]
    jobs: list[str] = []
    for choice in choices:
        reply = submit(analyst, installation.ready(choice=choice))
        assert reply.body["options"].get("choice") == (choice and choice.as_json())
        finish(installation, reply.body["job_id"])
        jobs.append(reply.body["job_id"])
    assert len(set(jobs)) == len(choices)
    assert [submit(analyst, installation.ready(choice=choice)).body["job_id"] for choice in choices] == jobs


def test_a_dry_run_is_arithmetic_and_makes_no_job(callers, slide):
    body = {"slide_id": str(slide), "model": "stain-density"}
    reply = callers.viewer("POST", "/jobs", body, query={"dry_run": "true"})
    assert reply.status == 200
    assert (reply.body["tiles"] > 1000, reply.body["exact"]) == (True, False)
    assert reply.body["dollars"] == pytest.approx(reply.body["seconds"] / 3600)
    assert callers.viewer("GET", "/jobs").body["items"] == []


def test_a_dry_run_counts_on_the_mask_that_inspection_kept(analyst, slide, installation):
    pixels = np.zeros((100, 200), np.bool_)
    pixels[20:60, 30:130] = True  # 10,000 x 4,000 px of a slide of 20,000 x 10,000
    mask = SlideMask(pixels, settings=SETTINGS)
    held = installation.ledger.get_slide(ANALYST, slide)
    kept = StoredMask(INSPECTION, mask).to_bytes([(file.etag, file.size) for file in held.files])
    installation.objects.put(keys.of_tissue_mask(keys.find_inspection_folder(held.thumbnail_key)), kept)
    body = {"slide_id": str(slide), "model": "stain-density", "options": {"min_tissue": 0.0}}
    reply = analyst("POST", "/jobs", body, query={"dry_run": "true"})
    # Columns of 256 px from the 12th (2,816 to 3,072) to the 51st (12,800 on), rows from the 8th to the 24th.
    assert (reply.body["tiles"], reply.body["exact"]) == (40 * 17, True)


def test_a_job_needs_a_slide_that_is_ready(analyst, installation):
    for slide in (installation.opened(5), installation.uploaded(5)):
        assert submit(analyst, slide.id).status == 409
        dry = analyst("POST", "/jobs", {"slide_id": str(slide.id), "model": "stain-density"}, query={"dry_run": "1"})
        assert dry.status == 409


def test_an_unknown_model_or_slide_is_not_found(analyst, slide):
    assert submit(analyst, slide, model="unknown").status == 404
    assert submit(analyst, slide, model_version="9").status == 404
    assert submit(analyst, "33333333-3333-4333-8333-333333333333").status == 404


def test_a_running_job_says_that_it_waits_for_capacity_after_a_minute(analyst, slide, installation):
    job = submit(analyst, slide).body["job_id"]
    plan(installation, job)
    assert analyst("GET", f"/jobs/{job}").body["waiting_for_capacity"] is False
    installation.clock.pass_seconds(61)
    assert analyst("GET", f"/jobs/{job}").body["waiting_for_capacity"] is True
    finish_shard(installation, job, 0, 10)
    running = analyst("GET", f"/jobs/{job}").body
    assert running["waiting_for_capacity"] is False
    assert (running["tiles_planned"], running["tiles_inferred"]) == (60, 10)
    assert running["eta_seconds"] == pytest.approx(5.0)


def test_a_job_that_waits_says_for_what_and_for_how_long(analyst, slide, installation):
    job = submit(analyst, slide).body["job_id"]
    queued = analyst("GET", f"/jobs/{job}").body
    assert queued["waiting_for"] == "it is being planned"
    assert (queued["expected_start_at"] is None, queued["expected_end_at"]) == (False, None)
    plan(installation, job)
    waiting = analyst("GET", f"/jobs/{job}").body
    assert waiting["waiting_for"] == "a worker is starting"
    start, end = (datetime.fromisoformat(waiting[name]) for name in ("expected_start_at", "expected_end_at"))
    assert (start - installation.clock.now).total_seconds() == pytest.approx(SCALING.start_seconds, abs=1)
    assert end > start
    finish_shard(installation, job, 0, 10)
    running = analyst("GET", f"/jobs/{job}").body
    assert (running["waiting_for"], running["expected_start_at"]) == (None, None)
    left = (datetime.fromisoformat(running["expected_end_at"]) - installation.clock.now).total_seconds()
    assert left == pytest.approx(running["eta_seconds"] + STITCHING_SECONDS, abs=1)
    cancelled = analyst("POST", f"/jobs/{job}/cancel").body
    assert {cancelled[name] for name in ("waiting_for", "expected_start_at", "expected_end_at")} == {None}


def test_a_list_of_jobs_estimates_none_of_them(analyst, slide):
    submit(analyst, slide)
    (listed,) = analyst("GET", "/jobs").body["items"]
    assert {listed[name] for name in ("waiting_for", "expected_start_at", "expected_end_at")} == {None}


def test_results_are_links_and_issuing_them_is_audited(callers, slide, installation):
    job = submit(callers.analyst, slide).body["job_id"]
    early = callers.viewer("GET", f"/jobs/{job}/results")
    assert (early.status, early.body["detail"]) == (409, "The job is QUEUED; it has results once it is COMPLETED.")
    finish(installation, job)
    (file,) = callers.viewer("GET", f"/jobs/{job}/results").body["items"]
    assert (file["name"], file["size"], file["media_type"]) == ("tiles.csv", 3, "text/csv")
    assert "seconds=900" in file["url"]


def test_events_tell_the_history_in_pages(analyst, slide, installation):
    job = submit(analyst, slide).body["job_id"]
    finish(installation, job)
    whole = analyst("GET", f"/jobs/{job}/events").body["items"]
    first = analyst("GET", f"/jobs/{job}/events", query={"limit": "2"}).body
    rest = analyst("GET", f"/jobs/{job}/events", query={"cursor": first["next_cursor"]}).body
    assert first["items"] + rest["items"] == whole
    assert rest["next_cursor"] is None
    assert [event["seq"] for event in whole] == sorted(event["seq"] for event in whole)


def test_a_cancelled_job_can_be_tried_again_with_the_same_pins(analyst, slide, installation):
    job = submit(analyst, slide, mpp=0.3, label="trial").body
    early = analyst("POST", f"/jobs/{job['job_id']}/retry")
    assert early.status == 409
    for _ in range(2):
        assert analyst("POST", f"/jobs/{job['job_id']}/cancel").body["status"] == "CANCELLED"
    retried = analyst("POST", f"/jobs/{job['job_id']}/retry", headers={"Idempotency-Key": "r"})
    assert retried.status == 202
    assert retried.body["retry_of"] == job["job_id"]
    for pin in ("slide_id", "model", "model_version", "model_digest", "options", "label", "priority"):
        assert retried.body[pin] == job[pin]
    again = analyst("POST", f"/jobs/{job['job_id']}/retry", headers={"Idempotency-Key": "r"})
    assert (again.body["job_id"], again.body["replayed"]) == (retried.body["job_id"], True)


def test_a_failed_job_says_why_and_can_be_tried_again(analyst, slide, installation):
    job = submit(analyst, slide).body["job_id"]
    installation.ledger.fail_job(UUID(job), FailReason.POISON_SHARD, "A shard failed three times.")
    failed = analyst("GET", f"/jobs/{job}").body
    assert (failed["reason"], failed["sentence"]) == ("poison_shard", "A shard failed three times.")
    assert analyst("POST", f"/jobs/{job}/retry").status == 202
    assert analyst("POST", f"/jobs/{job}/cancel").status == 409


def test_jobs_are_found_by_label_model_state_and_slide(analyst, slide, installation):
    other = installation.ready(seed=3)
    first = submit(analyst, slide, label="Trial 7").body["job_id"]
    second = submit(analyst, other).body["job_id"]
    for query, expected in [
        ({}, [second, first]),
        ({"q": "trial"}, [first]),
        ({"label": "Trial 7"}, [first]),
        ({"slide_id": str(other)}, [second]),
        ({"status": "COMPLETED"}, []),
        ({"model": "stain-density", "limit": "1"}, [second]),
    ]:
        assert [item["job_id"] for item in analyst("GET", "/jobs", query=query).body["items"]] == expected


@pytest.mark.parametrize(
    ("method", "tail"),
    [
        ("GET", ""),
        ("GET", "/events"),
        ("GET", "/partial"),
        ("GET", "/results"),
        ("POST", "/cancel"),
        ("POST", "/retry"),
    ],
)
def test_another_tenants_job_does_not_exist(callers, slide, method, tail):
    job = submit(callers.analyst, slide).body["job_id"]
    reply = callers.stranger(method, f"/jobs/{job}{tail}")
    assert (reply.status, reply.body["type"]) == (404, "/problems/not_found")
    assert submit(callers.stranger, slide).status == 404


def test_who_is_told_is_kept_and_shown(analyst, slide):
    asked = {"email": "a@lab.example", "webhook": "https://lab.example/hook"}
    job = submit(analyst, slide, notify=asked).body
    assert job["notify"] == asked
    assert analyst("GET", f"/jobs/{job['job_id']}").body["notify"] == asked
    assert analyst("GET", f"/jobs/{job['job_id']}/deliveries").body["items"] == []


def test_viewers_see_no_webhook_and_no_address_of_others(callers, slide, installation):
    people = {
        role: installation.ledger.add_user(ANALYST.tenant, "issuer", role, role, f"{role}@lab.example")
        for role in (Role.VIEWER, Role.ANALYST, Role.ADMIN)
    }
    viewer, analyst, admin = map(callers.of, people.values())
    asked = {"email": "chief@lab.example", "webhook": "https://lab.example/hook?token=s3cret"}
    job = submit(analyst, slide, notify=asked).body["job_id"]
    analyst("POST", f"/jobs/{job}/cancel")
    installation.ledger.claim_deliveries(UUID(job), seconds=60)
    paths = ("/jobs", f"/jobs/{job}", f"/jobs/{job}/events", f"/jobs/{job}/deliveries", f"/slides/{slide}", "/slides")
    for caller, hidden in (
        (viewer, ("s3cret", "chief@", "analyst@")),
        (callers.analyst, ("s3cret", "chief@")),  # a colleague, who sees whose job it is
    ):
        for path in paths:
            text = json.dumps(caller("GET", path).body)
            assert not [part for part in hidden if part in text], path
    retried = callers.analyst("POST", f"/jobs/{job}/retry").body  # a colleague, who now has a job with these receivers
    assert not [part for part in ("s3cret", "chief@") if part in json.dumps(retried)]
    for caller in (analyst, admin):
        assert caller("GET", f"/jobs/{job}").body["notify"] == asked
        targets = {item["target"] for item in caller("GET", f"/jobs/{job}/deliveries").body["items"]}
        assert targets == {asked["webhook"]}  # a job that somebody cancelled sends no mail


def test_a_webhook_into_a_private_network_is_refused_when_it_is_asked_for(analyst, slide):
    reply = submit(analyst, slide, notify={"webhook": "https://169.254.169.254/latest"})
    assert reply.status == 422
    assert "internet" in reply.body["detail"]


def test_a_key_with_another_notice_is_another_request(analyst, slide):
    assert submit(analyst, slide, key="k", notify={"email": "a@lab.example"}).status == 202
    assert submit(analyst, slide, key="k").status == 409


def test_what_came_of_a_notice_is_listed(installation, analyst, slide):
    job = submit(analyst, slide, notify={"webhook": "https://lab.example/hook"}).body["job_id"]
    analyst("POST", f"/jobs/{job}/cancel")
    installation.ledger.claim_deliveries(UUID(job), seconds=60)
    (delivery,) = analyst("GET", f"/jobs/{job}/deliveries").body["items"]
    assert (delivery["channel"], delivery["attempt"], delivery["delivered_at"]) == ("webhook", 1, None)


def test_the_webhook_secret_is_the_admins(callers):
    assert callers.analyst("GET", "/webhooks/secret").status == 403
    first = callers.admin("GET", "/webhooks/secret").body["secret"]
    assert first.startswith("whsec_")
    assert callers.admin("POST", "/webhooks/secret/rotate").body["secret"] != first
