"""Slides over REST events."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.installation import ALLOWED_BUCKET, ANALYST, INSPECTION
from wsi import keys
from wsi.records.slides import Choice
from wsi.sources.source import Source

URI = f"s3://{ALLOWED_BUCKET}/case 7/scan.svs"


def test_a_slide_is_registered_by_reference(analyst, installation):
    installation.slides.put_object(URI, b"slide")
    reply = analyst("POST", "/slides", {"s3_uri": URI, "mpp": 0.25})
    assert reply.status == 201
    assert (reply.body["status"], reply.body["name"], reply.body["size"]) == ("UPLOADED", "scan.svs", 5)
    assert reply.body["digest"].startswith("ref-")
    assert installation.queues.depth("wake") == 1


def test_a_chosen_picture_is_kept_with_the_slide_and_shown(analyst, installation):
    installation.slides.put_object(URI, b"slide")
    slide = analyst("POST", "/slides", {"s3_uri": URI, "optical_path": "2", "focal_plane": 3, "picture": 4}).body
    assert (slide["optical_path"], slide["focal_plane"], slide["picture"]) == ("2", 3, 4)
    assert analyst("GET", f"/slides/{slide['slide_id']}").body == slide
    plain = analyst("POST", "/slides", {"s3_uri": URI, "focal_plane": 1}).body
    assert (plain["optical_path"], plain["focal_plane"], plain["picture"]) == (None, 1, None)
    assert installation.ledger.get_slide(ANALYST, UUID(plain["slide_id"])).choice == Choice(focal_plane=1)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"focal_plane": 0}, "focal_plane"),
        ({"focal_plane": 1.5}, "focal_plane"),
        ({"picture": 0}, "picture"),
        ({"optical_path": ""}, "optical_path"),
        ({"optical_path": "1\0"}, "optical_path"),
        ({"optical_path": "1" * 65}, "optical_path"),
    ],
)
def test_a_choice_that_no_slide_can_offer_names_the_field(analyst, installation, change, field):
    installation.slides.put_object(URI, b"slide")
    for reply in (
        analyst("POST", "/slides", {"s3_uri": URI, **change}),
        analyst("POST", "/uploads", {"files": [{"name": "a.dcm", "size": 5}], **change}),
    ):
        assert reply.status == 422
        assert field in str(reply.body["errors"])


def test_only_what_lies_in_an_allowed_bucket_is_registered(analyst, installation):
    other = installation.uploaded(5)
    for uri, status in [
        ("s3://elsewhere/scan.svs", 403),
        (other.files[0].uri, 403),
        ("https://example.com/scan.svs", 422),
        (f"s3://{ALLOWED_BUCKET}/", 422),
        (f"s3://{ALLOWED_BUCKET}/folder/", 422),
        (f"s3://{ALLOWED_BUCKET}/folder//scan.svs", 422),
        (f"s3://{ALLOWED_BUCKET}/folder/../scan.svs", 422),
        (f"s3://{ALLOWED_BUCKET}/scan\n.svs", 422),
        (f"s3://{ALLOWED_BUCKET}/missing.svs", 404),
    ]:
        assert analyst("POST", "/slides", {"s3_uri": uri}).status == status


def test_nobody_learns_which_objects_of_another_tenant_exist(callers, installation):
    installation.slides.put_object(URI, b"slide")
    answers = []
    for uri in (URI, f"s3://{ALLOWED_BUCKET}/missing.svs", f"s3://{ALLOWED_BUCKET}2/scan.svs", "s3://elsewhere/x.svs"):
        reply = callers.stranger("POST", "/slides", {"s3_uri": uri})
        answers.append((reply.status, {name: said for name, said in reply.body.items() if "trace" not in name}))
    assert answers == [answers[0]] * 4
    assert answers[0][0] == 403
    assert callers.stranger("GET", "/slides").body["items"] == []
    assert installation.slides.looked_at == [], "the store was asked"


def test_a_tenant_registers_within_its_own_prefix_alone(analyst, installation):
    installation.ledger.set_sources(ANALYST.tenant, Source(ALLOWED_BUCKET, "labs/a/"))
    for key, status in [
        ("labs/a/scan.svs", 201),
        ("labs/a/x/scan.svs", 201),
        ("labs/ab/scan.svs", 403),
        ("labs/scan.svs", 403),
        ("labs/a/../ab/scan.svs", 422),
        ("labs/a%2F../ab/scan.svs", 403),
    ]:
        installation.slides.put_object(f"s3://{ALLOWED_BUCKET}/{key}", b"slide")
        assert analyst("POST", "/slides", {"s3_uri": f"s3://{ALLOWED_BUCKET}/{key}"}).status == status, key


def test_a_deleted_slide_leaves_nothing_of_ours(analyst, installation):
    slide = installation.uploaded(5)
    for version in (2, 5):  # the second time, after another scale was stated
        folder = keys.make_inspection_folder(slide.tenant, slide.id, version)
        for kept in (keys.of_thumbnail, keys.of_slide_index, keys.of_tissue_mask):
            installation.objects.put(kept(folder), b"of inspection")
    for _ in range(2):
        assert analyst("DELETE", f"/slides/{slide.id}").status == 204
    assert installation.objects.held == {}
    assert slide.files[0].uri not in installation.slides._objects
    assert analyst("GET", "/slides").body["items"] == []


def test_a_deleted_slide_takes_its_jobs_with_it(analyst, installation):
    slide = installation.ready()
    jobs = [
        analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density", "force": True}).body["job_id"]
        for _ in range(2)
    ]
    for job in jobs:
        store_job(installation, job)
        analyst("POST", f"/jobs/{job}/cancel")
    assert analyst("DELETE", f"/slides/{slide}").status == 204
    assert installation.objects.held == {}
    for job in jobs:
        for path in ("", "/results", "/partial", "/events", "/deliveries"):
            assert analyst("GET", f"/jobs/{job}{path}").status == 404
    assert analyst("GET", "/jobs").body["items"] == []


def test_a_deleted_job_takes_its_objects_alone(analyst, installation):
    slide = installation.ready()
    job, other = (
        analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density", "force": True}).body["job_id"]
        for _ in range(2)
    )
    for one in (job, other):
        store_job(installation, one)
        analyst("POST", f"/jobs/{one}/cancel")
    theirs = {key for key in installation.objects.held if other in key}
    for _ in range(2):
        assert analyst("DELETE", f"/jobs/{job}").status == 204
    assert set(installation.objects.held) == theirs
    assert [item["job_id"] for item in analyst("GET", "/jobs").body["items"]] == [other]


def test_a_live_job_is_not_deleted(analyst, installation):
    body = {"slide_id": str(installation.ready()), "model": "stain-density"}
    job = analyst("POST", "/jobs", body).body["job_id"]
    reply = analyst("DELETE", f"/jobs/{job}")
    assert (reply.status, reply.body["detail"]) == (409, "The job is QUEUED; cancel it first, or wait until it ends.")


def test_a_legal_hold_refuses_deletions_until_an_admin_ends_it(callers, analyst, installation):
    slide = installation.ready()
    job = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"}).body["job_id"]
    analyst("POST", f"/jobs/{job}/cancel")
    assert analyst("PUT", f"/slides/{slide}/legal-hold", {"held": True}).status == 403
    assert callers.admin("PUT", f"/slides/{slide}/legal-hold", {"held": True}).body["legal_hold"] is True
    for path in (f"/slides/{slide}", f"/jobs/{job}"):
        reply = analyst("DELETE", path)
        assert reply.status == 409
        assert reply.body["detail"] == (
            "The slide is under legal hold: neither it nor its jobs can be deleted until an admin ends the hold."
        )
    assert callers.admin("PUT", f"/slides/{slide}/legal-hold", {"held": False}).body["legal_hold"] is False
    assert analyst("DELETE", f"/jobs/{job}").status == analyst("DELETE", f"/slides/{slide}").status == 204


def store_job(installation, job):
    """What planner, workers and stitch store."""
    tenant, job = ANALYST.tenant, UUID(job)
    for key in (
        keys.of_plan(tenant, job),
        keys.of_checkpoint(tenant, job, 0, 1, 1),
        keys.of_shard_result(tenant, job, 0, 1),
        keys.of_result(tenant, job, "tiles.csv"),
    ):
        installation.objects.put(key, b"data")


def test_deleting_a_slide_by_reference_leaves_the_customers_file(analyst, installation):
    installation.slides.put_object(URI, b"slide")
    slide = analyst("POST", "/slides", {"s3_uri": URI}).body["slide_id"]
    assert analyst("DELETE", f"/slides/{slide}").status == 204
    assert URI in installation.slides.held


def test_a_slide_that_a_live_job_reads_is_not_deleted(analyst, installation):
    slide = installation.ready()
    analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"})
    assert analyst("DELETE", f"/slides/{slide}").status == 409


def test_a_slide_goes_to_the_archive_and_says_what_to_do(analyst, installation):
    slide = installation.ready()
    for _ in range(2):
        reply = analyst("POST", f"/slides/{slide}/archive")
        assert (reply.status, reply.body["status"]) == (200, "ARCHIVED")
    assert f"POST /slides/{slide}/restore" in analyst("GET", f"/slides/{slide}").body["sentence"]
    refused = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"})
    assert refused.status == 409
    assert f"POST /slides/{slide}/restore" in refused.body["detail"]


@pytest.mark.parametrize(
    ("body", "hours"), [(None, 12), ({}, 12), ({"tier": "standard"}, 12), ({"tier": "bulk"}, 48)], ids=str
)
def test_a_slide_comes_back_and_says_how_long_that_takes(analyst, installation, body, hours):
    slide = installation.ready()
    analyst("POST", f"/slides/{slide}/archive")
    reply = analyst("POST", f"/slides/{slide}/restore", body)
    assert (reply.status, reply.body["status"]) == (202, "RESTORING")
    assert f"{hours} hours" in reply.body["sentence"]
    refused = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"})
    assert (refused.status, f"{hours} hours" in refused.body["detail"]) == (409, True)


@pytest.mark.parametrize("body", [{"tier": "expedited"}, {"tiers": "bulk"}, [], "bulk"], ids=str)
def test_a_way_back_that_does_not_exist_is_refused(analyst, installation, body):
    slide = installation.ready()
    analyst("POST", f"/slides/{slide}/archive")
    assert analyst("POST", f"/slides/{slide}/restore", body).status == 422
    assert analyst("GET", f"/slides/{slide}").body["status"] == "ARCHIVED"


def test_a_slide_by_reference_is_not_archived(analyst, installation):
    installation.slides.put_object(URI, b"slide")
    slide = analyst("POST", "/slides", {"s3_uri": URI}).body["slide_id"]
    assert analyst("POST", f"/slides/{slide}/archive").status == 409


def test_slides_come_in_pages_newest_first(analyst, installation):
    made = [str(installation.uploaded(5).id) for _ in range(5)]
    found, cursor = [], None
    while True:
        query = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = analyst("GET", "/slides", query=query).body
        found += [item["slide_id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]


def test_slides_are_found_by_name_and_state(analyst, installation):
    ready = installation.ready()
    installation.opened(5)
    assert [item["slide_id"] for item in analyst("GET", "/slides", query={"status": "READY"}).body["items"]] == [
        str(ready)
    ]
    assert len(analyst("GET", "/slides", query={"q": "SCAN"}).body["items"]) == 2
    assert analyst("GET", "/slides", query={"q": "nothing"}).body["items"] == []


def test_another_tenants_slides_do_not_exist(callers, installation):
    slide = installation.ready()
    assert callers.stranger("GET", f"/slides/{slide}").status == 404
    assert callers.stranger("DELETE", f"/slides/{slide}").status == 404
    assert callers.stranger("POST", f"/slides/{slide}/archive").status == 404
    assert callers.stranger("POST", f"/slides/{slide}/restore").status == 404
    assert callers.stranger("GET", "/slides").body["items"] == []
    assert callers.viewer("GET", f"/slides/{slide}").body["inspection"]["width"] == 20_000


def test_a_slide_of_before_with_a_table_for_dry_runs_is_shown_without_it_and_guessed(analyst, installation):
    slide = installation.uploaded().id
    kept = INSPECTION.as_json() | {"tile_counts": {"sides": [16]}}
    assert installation.ledger.accept_slide(slide, kept, "t.jpeg", version=2)
    assert "tile_counts" not in analyst("GET", f"/slides/{slide}").body["inspection"]
    reply = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"}, query={"dry_run": "true"})
    assert (reply.status, reply.body["exact"]) == (200, False)


def test_no_browser_keeps_an_answer_that_names_a_slide(callers, installation):
    slide = installation.ready()
    for path in ("/slides", f"/slides/{slide}", "/jobs", f"/jobs/{slide}"):
        assert callers.viewer("GET", path).headers["cache-control"] == "no-store"
