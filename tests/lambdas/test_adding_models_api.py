"""Models that an admin adds over REST events; a worker's verdict is given by hand."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest

from tests.installation import HOSPITAL, RIVAL, STRANGER
from tests.lambdas.rest import Caller
from wsi.digests import PART_SIZE
from wsi.errors import FailReason
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.models import ModelVersion
from wsi.records.registrations import ModelMeasurements

CARD, WEIGHTS = b'{"spec_version": "1.0"}', b"w" * 40
NET = "/models/net/versions/1"
MEASURED = ModelMeasurements(device="CPU, 2 threads", tiles_per_second=12.5, load_seconds=0.5, memory_bytes=10**9)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def package(weights: bytes = WEIGHTS) -> dict[str, bytes]:
    return {"card.json": CARD, "model.onnx": weights}


def body(files: dict[str, bytes], **more) -> dict:
    listed = [{"name": name, "size": len(data), "sha256": sha256(data)} for name, data in files.items()]
    return {"files": listed, **more}


def send(admin: Caller, installation, files: dict[str, bytes], path: str = NET) -> None:
    for number, data in enumerate(files.values()):
        part = {"file": number, "n": 1, "size": len(data), "sha256": sha256(data)}
        granted = admin("POST", f"{path}/parts", {"parts": [part]}).body["parts"][0]
        installation.packages.put_part(granted["url"], data)


def added(admin: Caller, installation, path: str = NET, **more) -> UUID:
    """Adds a package whole; the id of its registration."""
    assert admin("PUT", path, body(package(), **more)).status == 200
    send(admin, installation, package(), path)
    assert admin("POST", f"{path}/complete").body["status"] == "CHECKING"
    return admin_registration(installation, path).id


def admin_registration(installation, path: str = NET):
    _, _, name, _, version = path.split("/")
    return installation.ledger.books.registrations[HOSPITAL, name, version]


def accepted(installation, registration_id: UUID, version: str = "1") -> None:
    card = {**STAIN_DENSITY.as_json(), "name": "net", "version": version, "tiles_per_second": 12.5}
    model = ModelVersion(name="net", version=version, digest="d" * 64, card=card, package_uri="s3://tessera-models/p/")
    assert installation.ledger.accept_model(registration_id, model, MEASURED)


def test_a_package_goes_up_in_parts_is_tried_and_takes_jobs(callers, installation):
    opened = callers.admin("PUT", NET, body(package()))
    assert (opened.status, opened.body["status"], opened.body["part_size"]) == (200, "UPLOADING", PART_SIZE)
    assert opened.body["files"] == ["card.json", "model.onnx"]
    assert callers.admin("GET", f"{NET}/parts").body["items"] == []
    send(callers.admin, installation, package())
    held = callers.admin("GET", f"{NET}/parts").body["items"]
    assert [(part["file"], part["size"]) for part in held] == [(0, len(CARD)), (1, len(WEIGHTS))]
    assert callers.admin("POST", f"{NET}/complete").body["status"] == "CHECKING"
    accepted(installation, admin_registration(installation).id)
    ready = callers.admin("GET", NET).body
    assert (ready["status"], ready["is_default"], ready["digest"]) == ("READY", True, "d" * 64)
    assert ready["measured"]["tiles_per_second"] == 12.5
    assert "net" in [item["name"] for item in callers.viewer("GET", "/models").body["items"]]


def test_the_files_lie_under_a_key_of_ours(callers, installation):
    registration_id = added(callers.admin, installation)
    assert set(installation.packages.held) == {
        f"s3://tessera-models/packages/{HOSPITAL}/{registration_id}/{name}" for name in package()
    }


def test_a_refused_version_says_why_and_takes_no_jobs(callers, installation, slide):
    registration_id = added(callers.admin, installation)
    sentence = "The network gives one answer for every tile."
    assert installation.ledger.reject_model(registration_id, FailReason.MODEL_FAILED, sentence)
    refused = callers.admin("GET", NET).body
    assert (refused["status"], refused["reason"], refused["sentence"]) == ("REJECTED", "model_failed", sentence)
    job = callers.analyst("POST", "/jobs", {"slide_id": str(slide), "model": "net"})
    assert job.status == 404
    named = callers.analyst("POST", "/jobs", {"slide_id": str(slide), "model": "net", "model_version": "1"})
    assert (named.status, "is REJECTED; a job needs" in named.body["detail"]) == (409, True)
    assert callers.analyst("GET", NET).status == 404


def test_a_refused_version_is_added_again_and_its_files_go(callers, installation):
    first = added(callers.admin, installation)
    installation.ledger.reject_model(first, FailReason.MODEL_FAILED, "No.")
    again = callers.admin("PUT", NET, body(package(b"x" * 40)))
    assert (again.status, again.body["status"], again.body["sentence"]) == (200, "UPLOADING", None)
    assert installation.packages.held == frozenset()


def test_an_upload_that_broke_off_goes_on(callers, installation):
    callers.admin("PUT", NET, body(package()))
    send(callers.admin, installation, {"card.json": CARD})
    assert callers.admin("POST", f"{NET}/complete").body["detail"].startswith("File number 1 lacks 1 of its 1 parts")
    assert callers.admin("PUT", NET, body(package())).body["status"] == "UPLOADING"
    assert [part["file"] for part in callers.admin("GET", f"{NET}/parts").body["items"]] == [0]


def test_the_same_package_again_is_the_version_that_there_is(callers, installation):
    accepted(installation, added(callers.admin, installation))
    again = callers.admin("PUT", NET, body(package()))
    assert (again.status, again.body["status"]) == (200, "READY")
    assert callers.admin("POST", f"{NET}/complete").body["status"] == "READY"
    assert callers.admin("GET", f"{NET}/parts").status == 409


def test_a_version_never_changes(callers, installation):
    accepted(installation, added(callers.admin, installation))
    other = callers.admin("PUT", NET, body(package(b"x" * 40)))
    assert other.status == 409
    assert "add it as another version" in other.body["detail"]


def test_a_newer_version_is_not_the_default_until_it_is_chosen(callers, installation):
    accepted(installation, added(callers.admin, installation))
    accepted(installation, added(callers.admin, installation, "/models/net/versions/2"), "2")
    assert callers.viewer("GET", "/models/net").body["version"] == "1"
    assert callers.admin("PUT", "/models/net/default", {"version": "2"}).body["is_default"]
    assert callers.viewer("GET", "/models/net").body["version"] == "2"
    assert callers.admin("PUT", "/models/net/default", {"version": "3"}).status == 404


def test_a_job_keeps_the_version_that_was_the_default_when_it_was_made(callers, installation, slide):
    accepted(installation, added(callers.admin, installation))
    accepted(installation, added(callers.admin, installation, "/models/net/versions/2"), "2")
    job = callers.analyst("POST", "/jobs", {"slide_id": str(slide), "model": "net"}).body["job_id"]
    assert callers.admin("PUT", "/models/net/default", {"version": "2"}).body["is_default"]
    assert callers.analyst("GET", f"/jobs/{job}").body["model_version"] == "1"
    brief = installation.ledger.begin_planning(UUID(job))
    assert brief is not None
    assert brief.model.version == "1"


def test_a_version_that_is_ready_becomes_the_default_when_it_is_added_again_as_one(callers, installation):
    accepted(installation, added(callers.admin, installation))
    accepted(installation, added(callers.admin, installation, "/models/net/versions/2"), "2")
    again = callers.admin("PUT", "/models/net/versions/2", body(package(), default=True)).body
    assert (again["status"], again["is_default"], again["digest"]) == ("READY", True, "d" * 64)
    assert callers.viewer("GET", "/models/net").body["version"] == "2"


def test_only_admins_add_models(callers):
    assert callers.analyst("PUT", NET, body(package())).status == 403
    assert callers.analyst("PUT", "/models/stain-density/default", {"version": "1.1"}).status == 403


@pytest.mark.parametrize("is_ready", [False, True])
def test_another_tenants_admin_gets_the_answers_of_a_model_that_does_not_exist(callers, installation, is_ready):
    registration_id = added(callers.admin, installation)
    if is_ready:
        accepted(installation, registration_id)
    slide = str(installation.ready(actor=STRANGER))
    part = {"file": 0, "n": 1, "size": len(CARD), "sha256": sha256(CARD)}

    def ask(name: str) -> list[tuple[int, str]]:
        at = f"/models/{name}"
        replies = [
            callers.stranger("GET", at),
            callers.stranger("GET", at, query={"version": "1"}),
            callers.stranger("GET", f"{at}/versions/1"),
            callers.stranger("GET", f"{at}/versions/1/parts"),
            callers.stranger("POST", f"{at}/versions/1/parts", {"parts": [part]}),
            callers.stranger("POST", f"{at}/versions/1/complete"),
            callers.stranger("PUT", f"{at}/default", {"version": "1"}),
            callers.stranger("POST", "/jobs", {"slide_id": slide, "model": name}),
            callers.stranger("POST", "/jobs", {"slide_id": slide, "model": name, "model_version": "1"}),
            callers.stranger("POST", "/jobs", {"slide_id": slide, "model": name, "dry_run": True}),
            callers.stranger("GET", "/jobs", query={"model": name}),
            # Last, since it adds the stranger's own: with the very bytes, then with others.
            callers.stranger("PUT", f"{at}/versions/1", body(package())),
            callers.stranger("PUT", f"{at}/versions/1", body(package(b"x" * 40))),
        ]
        return [(one.status, str(one.body.get("detail", one.body)).replace(name, "NAME")) for one in replies]

    assert ask("net") == ask("nothing")
    assert "net" not in [item["name"] for item in callers.stranger("GET", "/models").body["items"]]
    theirs = callers.admin("GET", NET).body
    assert theirs["status"] == ("READY" if is_ready else "CHECKING")
    assert (theirs["owner"], theirs["files"]) == ("tenant", ["card.json", "model.onnx"])


def test_two_tenants_have_models_of_one_name(callers, installation):
    accepted(installation, added(callers.admin, installation))
    assert callers.stranger("PUT", NET, body(package())).status == 200
    send(callers.stranger, installation, package())
    assert callers.stranger("POST", f"{NET}/complete").body["status"] == "CHECKING"
    accepted(installation, installation.ledger.books.registrations[RIVAL, "net", "1"].id)
    for caller in (callers.admin, callers.stranger):
        listed = [item for item in caller("GET", "/models").body["items"] if item["name"] == "net"]
        assert [(item["version"], item["is_default"], item["owner"]) for item in listed] == [("1", True, "tenant")]
    prefixes = {uri.rsplit("/", 2)[0] for uri in installation.packages.held}
    assert prefixes == {f"s3://tessera-models/packages/{tenant}" for tenant in (HOSPITAL, RIVAL)}


def test_a_model_of_the_installation_is_not_a_tenants_to_change(callers, installation):
    chosen = callers.admin("PUT", "/models/stain-density/default", {"version": "1.1"})
    assert (chosen.status, "belongs to the installation" in chosen.body["detail"]) == (403, True)
    installation.ledger.register_model(
        ModelVersion(name="shared", version="1", digest="c" * 64, card={"name": "shared"}, package_uri=None)
    )
    added_to = callers.admin("PUT", "/models/shared/versions/2", body(package()))
    assert (added_to.status, "belongs to the installation" in added_to.body["detail"]) == (409, True)
    assert callers.viewer("GET", "/models/shared").body["owner"] == "installation"


def test_a_builtin_version_stands_as_any_other(callers):
    got = callers.viewer("GET", "/models/stain-density/versions/1.1").body
    assert (got["status"], got["measured"]) == ("READY", None)


@pytest.mark.parametrize(
    ("path", "files", "said"),
    [
        ("/models/Net/versions/1", package(), "name is 1 to 100"),
        ("/models/net/versions/~", package(), "version is 1 to 100"),
        (NET, {"card.json": CARD, "setup.py": b"x"}, "has no such file"),
        (NET, {"model.onnx": b"x"}, "neither card.json nor config.json"),
    ],
)
def test_what_no_package_is_is_refused_in_words(callers, path, files, said):
    reply = callers.admin("PUT", path, body(files))
    assert reply.status == 422
    assert said in reply.body["detail"]


def test_a_package_larger_than_any_is_refused(callers):
    files = [{"name": name, "size": 20 * 1024**3, "sha256": "0" * 64} for name in package()]
    assert callers.admin("PUT", NET, {"files": files}).status == 422


def test_the_name_of_a_builtin_model_is_kept(callers):
    reply = callers.admin("PUT", "/models/stain-density/versions/9", body(package()))
    assert (reply.status, "built in" in reply.body["detail"]) == (409, True)
