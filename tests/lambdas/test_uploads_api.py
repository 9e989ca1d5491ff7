"""Uploads over REST events."""

from __future__ import annotations

import hashlib

import pytest

from wsi.digests import PART_SIZE
from wsi.records.slides import CleanCopy, Removed

SHA = hashlib.sha256(b"12345").hexdigest()


def begin(analyst, size=5, name="a.svs"):
    reply = analyst("POST", "/uploads", {"files": [{"name": name, "size": size}]})
    assert reply.status == 201
    return reply.body


def test_a_slide_goes_up_in_presigned_parts(analyst, installation):
    opened = begin(analyst)
    assert opened["part_size"] == PART_SIZE
    assert [file["file"] for file in opened["files"]] == [0]
    slide = opened["slide_id"]
    asked = {"parts": [{"file": 0, "n": 1, "size": 5, "sha256": SHA}]}
    granted = analyst("POST", f"/uploads/{slide}/parts", asked).body["parts"]
    assert [(part["file"], part["n"]) for part in granted] == [(0, 1)]
    assert analyst("GET", f"/uploads/{slide}/parts").body["items"] == []
    installation.slides.put_part(granted[0]["url"], b"12345")
    held = analyst("GET", f"/uploads/{slide}/parts").body
    assert held == {
        "part_size": PART_SIZE,
        "items": [{"file": 0, "n": 1, "size": 5, "sha256": SHA}],
        "next_cursor": None,
    }
    done = analyst("POST", f"/uploads/{slide}/complete")
    assert (done.status, done.body["status"]) == (200, "UPLOADED")
    assert analyst("POST", f"/uploads/{slide}/complete").body == done.body


def test_stored_parts_are_paged(analyst, installation):
    slide = installation.opened(5, 6, 7)
    installation.send_parts(slide)
    first = analyst("GET", f"/uploads/{slide.id}/parts", query={"limit": "2"}).body
    second = analyst("GET", f"/uploads/{slide.id}/parts", query={"limit": "2", "cursor": first["next_cursor"]}).body
    assert [item["file"] for item in first["items"] + second["items"]] == [0, 1, 2]
    assert second["next_cursor"] is None
    assert analyst("GET", f"/uploads/{slide.id}/parts", query={"cursor": "x"}).status == 422


def test_missing_parts_are_a_conflict_in_words(analyst):
    slide = begin(analyst, size=2 * PART_SIZE)["slide_id"]
    reply = analyst("POST", f"/uploads/{slide}/complete")
    assert reply.status == 409
    assert reply.body["detail"] == "File number 0 lacks 2 of its 2 parts: 1, 2."


def test_101_parts_are_refused(analyst):
    slide = begin(analyst, size=200 * PART_SIZE)["slide_id"]
    parts = [{"file": 0, "n": n, "size": PART_SIZE, "sha256": SHA} for n in range(1, 102)]
    assert analyst("POST", f"/uploads/{slide}/parts", {"parts": parts[:100]}).status == 200
    reply = analyst("POST", f"/uploads/{slide}/parts", {"parts": parts})
    assert reply.status == 422
    assert "1 to 100 parts" in reply.body["detail"]


def test_an_upload_is_aborted_without_a_body(analyst):
    slide = begin(analyst)["slide_id"]
    reply = analyst("DELETE", f"/uploads/{slide}")
    assert (reply.status, reply.body) == (204, None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/uploads/{}/complete"),
        ("GET", "/uploads/{}/parts"),
        ("DELETE", "/uploads/{}"),
    ],
)
def test_uploads_of_another_tenant_do_not_exist(callers, method, path):
    slide = begin(callers.analyst)["slide_id"]
    assert callers.stranger(method, path.format(slide)).status == 404
    assert callers.analyst("GET", f"/slides/{slide}").body["status"] == "UPLOADING"


def test_de_identification_is_asked_for_with_the_upload(analyst):
    asked = {"files": [{"name": "a.svs", "size": 5}], "deidentify": True}
    slide = analyst("POST", "/uploads", asked).body["slide_id"]
    answer = analyst("GET", f"/slides/{slide}").body
    assert (answer["deidentify"], answer["deidentified"], answer["removed"]) == (True, False, None)
    plain = analyst("GET", f"/slides/{begin(analyst)['slide_id']}").body
    assert (plain["deidentify"], plain["deidentified"]) == (False, False)
    assert analyst("POST", "/uploads", {**asked, "deidentify": "perhaps"}).status == 422


def test_a_slide_by_reference_is_not_ours_to_change(analyst):
    asked = {"s3_uri": "s3://customer-slides/a.svs", "deidentify": True}
    assert analyst("POST", "/slides", asked).status == 422


def test_what_was_removed_is_told_once_it_is(analyst, installation):
    slide = installation.opened(5, deidentify=True)
    installation.send_part(slide, 0, 1, b"12345")
    slide = installation.complete(slide.id)
    copies = {0: ("00000.svs", CleanCopy(uri="s3://b/clean", upload_id="u"))}
    removed = Removed(images=2, tags=11)
    assert installation.ledger.begin_deidentification(slide.id, f"{slide.id}.svs", copies, removed) is not None
    assert analyst("GET", f"/slides/{slide.id}").body["removed"] is None
    assert installation.ledger.finish_deidentification(
        slide.id, digest="d-1", copies={"s3://b/clean": ("e", 3)}, choice=None
    )
    answer = analyst("GET", f"/slides/{slide.id}").body
    assert (answer["deidentified"], answer["removed"]) == (True, {"images": 2, "tags": 11, "files": 0})
    assert answer["name"] == f"{slide.id}.svs"
