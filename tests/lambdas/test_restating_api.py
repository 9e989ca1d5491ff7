"""`PATCH /slides/{id}` over REST events."""

from __future__ import annotations

import pytest

from tests.installation import ANALYST, INSPECTION
from wsi import keys
from wsi.errors import RejectReason
from wsi.records.slides import Choice


@pytest.fixture
def rejected(installation):
    slide = installation.uploaded(5)
    installation.ledger.reject_slide(slide.id, RejectReason.NO_MPP, "The slide has no scale.", version=slide.version)
    return slide.id


def test_a_rejected_slide_is_inspected_again_with_what_is_stated(analyst, installation, rejected):
    reply = analyst("PATCH", f"/slides/{rejected}", {"mpp": 0.25, "picture": 2, "name": "Case 8"})
    assert reply.status == 200
    assert analyst("GET", f"/slides/{rejected}").body == reply.body
    said = {"status": "UPLOADED", "mpp": 0.25, "picture": 2, "optical_path": None, "name": "Case 8"}
    assert reply.body | said | {"reason": None, "sentence": None} == reply.body
    topics = [entry.row.topic for entry in installation.ledger.books.outbox]
    assert topics == ["inspect", "inspect"]
    assert installation.queues.depth("wake") == 2


def test_what_is_left_out_stays_and_null_takes_it_back(analyst, installation):
    slide = installation.ready(mpp=0.5, choice=Choice(optical_path="2", focal_plane=3))
    body = analyst("PATCH", f"/slides/{slide}", {"mpp": None, "focal_plane": None}).body
    assert (body["status"], body["mpp"], body["optical_path"], body["focal_plane"]) == ("UPLOADED", None, "2", None)


def test_the_same_again_is_answered_and_inspects_nothing(analyst, installation):
    slide = installation.ready(mpp=0.5)
    before = analyst("GET", f"/slides/{slide}").body
    for _ in range(2):
        reply = analyst("PATCH", f"/slides/{slide}", {"mpp": 0.5, "picture": None})
        assert (reply.status, reply.body) == (200, before)
    changed = analyst("PATCH", f"/slides/{slide}", {"mpp": 0.25}).body
    assert analyst("PATCH", f"/slides/{slide}", {"mpp": 0.25}).body == changed  # the first answer was lost


def test_what_the_last_inspection_stored_is_gone(analyst, installation):
    slide = installation.ledger.get_slide(ANALYST, installation.ready())
    folder = keys.find_inspection_folder(slide.thumbnail_key)
    stored = [keys.of_thumbnail(folder), keys.of_slide_index(folder), keys.of_tissue_mask(folder)]
    for key in (*stored, "of another slide"):
        installation.objects.put(key, b"")
    assert analyst("PATCH", f"/slides/{slide.id}", {"name": "Case 8"}).status == 200
    assert len(installation.objects.held) == 4
    assert analyst("PATCH", f"/slides/{slide.id}", {"picture": 2}).status == 200
    assert list(installation.objects.held) == ["of another slide"]


def test_what_lay_in_one_folder_for_all_inspections_goes_without_what_a_new_one_stores(analyst, installation):
    """Slides that were inspected before folders had versions."""
    slide = installation.uploaded(5)
    flat = keys.make_inspections_prefix(slide.tenant, slide.id)
    installation.ledger.accept_slide(slide.id, INSPECTION.as_json(), f"{flat}thumbnail.jpeg", version=slide.version)
    later = keys.make_inspection_folder(slide.tenant, slide.id, slide.version + 2)
    for folder in (flat, later):
        for key in (keys.of_thumbnail(folder), keys.of_slide_index(folder), keys.of_tissue_mask(folder)):
            installation.objects.put(key, b"")
    assert analyst("PATCH", f"/slides/{slide.id}", {"picture": 2}).status == 200
    assert all(key.startswith(later) for key in installation.objects.held)
    assert len(installation.objects.held) == 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "State at least one of"),
        ({"name": None}, "not be taken away"),
        ({"name": " "}, "1 to 255 characters"),
        ({"name": "a\nb"}, "1 to 255 characters"),
        ({"name": "a" * 256}, "1 to 255 characters"),
        ({"mpp": 0}, "mpp"),
        ({"mpp": 1e400}, "mpp"),
        ({"picture": 0}, "picture"),
        ({"focal_plane": 1.5}, "focal_plane"),
        ({"optical_path": "1" * 65}, "optical_path"),
        ({"metadata": {}}, "metadata"),
    ],
)
def test_what_can_not_be_stated_names_the_field(analyst, installation, body, said):
    slide = installation.ready()
    reply = analyst("PATCH", f"/slides/{slide}", body)
    assert reply.status in (400, 422)
    assert said in str(reply.body)
    assert analyst("GET", f"/slides/{slide}").body["status"] == "READY"


def test_a_name_may_hold_the_letters_of_any_script(analyst, installation):
    slide = installation.ready()
    for name in ("Ärztin № 7", "\u05d0\u202cx", "患者 7", "a\u00adb"):
        assert analyst("PATCH", f"/slides/{slide}", {"name": name}).body["name"] == name


def test_a_slide_that_a_job_reads_stays_as_it_is(analyst, installation):
    slide = installation.ready()
    job = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"}).body["job_id"]
    reply = analyst("PATCH", f"/slides/{slide}", {"mpp": 0.25})
    assert (reply.status, reply.body["type"]) == (409, "/problems/conflict")
    assert "A job is running on this slide" in reply.body["detail"]
    analyst("POST", f"/jobs/{job}/cancel")
    assert analyst("PATCH", f"/slides/{slide}", {"mpp": 0.25}).body["status"] == "UPLOADED"


@pytest.mark.parametrize("stated", [{"picture": 2}, {"mpp": 0.25}])
def test_a_job_of_before_is_not_tried_again_as_if_nothing_had_changed(analyst, installation, stated):
    slide = installation.ready()
    job = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"}).body["job_id"]
    analyst("POST", f"/jobs/{job}/cancel")
    version = analyst("PATCH", f"/slides/{slide}", stated).body["version"]
    installation.ledger.accept_slide(slide, INSPECTION.as_json(), "t.jpeg", version=version)
    reply = analyst("POST", f"/jobs/{job}/retry")
    assert (reply.status, "start a new job" in reply.body["detail"]) == (409, True)
    made = analyst("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density"}).body
    assert made["options"]["mpp"] == stated.get("mpp")


def test_only_who_may_write_states_anything_and_only_of_slides_of_theirs(callers, installation):
    slide = installation.ready()
    assert callers.viewer("PATCH", f"/slides/{slide}", {"mpp": 0.25}).status == 403
    assert callers.nobody("PATCH", f"/slides/{slide}", {"mpp": 0.25}).status == 401
    assert callers.stranger("PATCH", f"/slides/{slide}", {"mpp": 0.25}).status == 404
    assert callers.admin("PATCH", f"/slides/{slide}", {"mpp": 0.25}).status == 200


def test_the_audit_log_says_what_was_stated_and_not_how_the_slide_is_called(analyst, installation):
    slide = installation.ready()
    analyst("PATCH", f"/slides/{slide}", {"mpp": 0.25, "name": "Jane Doe"})
    line = installation.ledger.books.audit[-1]
    assert (line.actor.subject, line.action, line.subject) == (ANALYST.subject, "slide.restate", str(slide))
    assert line.detail == {"mpp": 0.25, "name": True}
