"""A successful request of each route, which the audit log must show. A new route gets a row in CALLS, or one in
UNRECORDED with the reason why nobody needs to know of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from lambdas import tiles
from lambdas.wiring import ApiWiring
from tests.installation import ADMIN, ALLOWED_BUCKET, ANALYST, VIEWER, Installation
from tests.lambdas.jobs import finish, finish_shard, plan, submit
from tests.lambdas.rest import BASE, Caller, rest_event, whole_handler
from tests.slides import write_svs
from tests.wsi.inspection.test_inspecting import inspect, take_in
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.models import ModelVersion
from wsi.viewer.viewing import compute_view_etag

Ask = Callable[[], int]  #: sends the request and returns its status
NET = "/models/net/versions/1"
PACKAGE = {"card.json": b"{}", "model.onnx": b"w" * 40}


def hash_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Scene:
    """An installation, its people, and what a request needs to succeed."""

    installation: Installation
    wiring: ApiWiring
    folder: Path
    slides: int = 0

    def __post_init__(self) -> None:
        handler = whole_handler(self.wiring)
        self.viewer, self.analyst, self.admin = (Caller(handler, one) for one in (VIEWER, ANALYST, ADMIN))

    def slide(self) -> UUID:
        self.slides += 1  # of other bytes each time: equal jobs are one
        return self.installation.ready(seed=self.slides)

    def archived(self) -> UUID:
        slide = self.slide()
        self.analyst("POST", f"/slides/{slide}/archive")
        return slide

    def upload(self, *, is_sent: bool = False) -> UUID:
        slide = self.installation.opened(5)
        if is_sent:
            self.installation.send_parts(slide)
        return slide.id

    def registered_uri(self) -> str:
        uri = f"s3://{ALLOWED_BUCKET}/scan.svs"
        self.installation.slides.put_object(uri, b"slide")
        return uri

    def job(self) -> str:
        return submit(self.analyst, self.slide()).body["job_id"]

    def finished(self) -> str:
        job = self.job()
        finish(self.installation, job)
        return job

    def begun(self) -> str:
        job = self.job()
        plan(self.installation, job)
        finish_shard(self.installation, job, 0, 10)
        return job

    def cancelled(self) -> str:
        job = self.job()
        self.analyst("POST", f"/jobs/{job}/cancel")
        return job

    def model(self) -> str:
        card = {**STAIN_DENSITY.as_json(), "name": "own", "version": "1"}
        own = ModelVersion(name="own", version="1", digest="d" * 64, card=card, package_uri=None, owner=ADMIN.tenant)
        self.installation.ledger.register_model(own)
        return own.name

    def package(self, *, is_sent: bool = False) -> str:
        assert self.admin("PUT", NET, self.package_body()).status == 200
        for number, data in enumerate(PACKAGE.values() if is_sent else ()):
            granted = self.admin("POST", f"{NET}/parts", make_parts(data, number)).body["parts"]
            self.installation.packages.put_part(granted[0]["url"], data)
        return NET

    def package_body(self) -> dict[str, Any]:
        return {
            "files": [{"name": name, "size": len(data), "sha256": hash_hex(data)} for name, data in PACKAGE.items()]
        }

    def viewing(self, path: str) -> Ask:
        """A viewer at the function of the tiles."""
        written = write_svs(self.folder / "a.svs", width=960, height=720, levels=(1, 4))
        slide = take_in(self.installation, written)
        inspect(self.installation, slide, self.folder)
        wiring = self.wiring
        handler = tiles.make_handler(
            tiles.TilesWiring(ledger=wiring.ledger, slides=wiring.slides, objects=wiring.objects)
        )
        etag = compute_view_etag(wiring.ledger.get_slide(VIEWER, slide))
        event = rest_event("GET", f"{BASE}/slides/{slide}{path}", query={"v": etag}, actor=VIEWER)
        return lambda: handler(event, None)["statusCode"]


def make_parts(data: bytes, number: int = 0) -> dict[str, Any]:
    return {"parts": [{"file": number, "n": 1, "size": len(data), "sha256": hash_hex(data)}]}


def ask(caller: Caller, method: str, path: str, body: Any = None) -> Ask:
    return lambda: caller(method, path, body).status


def of(
    method: str, path: str, noun: str, body: Any = None, *, by: str = "analyst", **how: Any
) -> Callable[[Scene], Ask]:
    """A request with the id of a thing that `Scene.<noun>` makes in its path."""

    def prepare(scene: Scene) -> Ask:
        made = getattr(scene, noun)(**how)
        return ask(getattr(scene, by), method, path.format(made), body)

    return prepare


_UPLOAD = {"files": [{"name": "a.svs", "size": 5}]}
_RULES = (
    # method, path of the description, action of its line, how it is called
    ("POST", "/uploads", "slide.create", lambda scene: ask(scene.analyst, "POST", "/uploads", _UPLOAD)),
    (
        *("POST", "/uploads/{slide_id}/parts", "slide.link_parts"),
        of("POST", "/uploads/{}/parts", "upload", make_parts(b"12345")),
    ),
    (
        *("POST", "/uploads/{slide_id}/complete", "slide.complete"),
        of("POST", "/uploads/{}/complete", "upload", is_sent=True),
    ),
    ("DELETE", "/uploads/{slide_id}", "slide.delete", of("DELETE", "/uploads/{}", "upload")),
    (
        *("POST", "/slides", "slide.register"),
        lambda scene: ask(scene.analyst, "POST", "/slides", {"s3_uri": scene.registered_uri()}),
    ),
    ("GET", "/slides", "slide.list", lambda scene: ask(scene.viewer, "GET", "/slides")),
    ("GET", "/slides/{slide_id}", "slide.view", of("GET", "/slides/{}", "slide", by="viewer")),
    ("PATCH", "/slides/{slide_id}", "slide.restate", of("PATCH", "/slides/{}", "slide", {"mpp": 0.25})),
    ("DELETE", "/slides/{slide_id}", "slide.delete", of("DELETE", "/slides/{}", "slide")),
    ("POST", "/slides/{slide_id}/archive", "slide.archive", of("POST", "/slides/{}/archive", "slide")),
    ("POST", "/slides/{slide_id}/restore", "slide.restore", of("POST", "/slides/{}/restore", "archived")),
    ("GET", "/slides/{slide_id}/pyramid", "slide.view_image", lambda scene: scene.viewing("/pyramid")),
    ("GET", "/slides/{slide_id}/thumbnail", "slide.view_thumbnail", lambda scene: scene.viewing("/thumbnail")),
    (
        *("GET", "/slides/{slide_id}/tiles/{level}/{x}_{y}.jpeg", "slide.view_image"),
        lambda scene: scene.viewing("/tiles/0/0_0.jpeg"),
    ),
    (
        "POST",
        "/jobs",
        "job.submit",
        lambda scene: partial(lambda slide: submit(scene.analyst, slide).status, scene.slide()),
    ),
    ("GET", "/jobs", "job.list", lambda scene: ask(scene.viewer, "GET", "/jobs")),
    ("GET", "/jobs/{job_id}", "job.view", of("GET", "/jobs/{}", "job", by="viewer")),
    ("GET", "/jobs/{job_id}/events", "job.view", of("GET", "/jobs/{}/events", "job", by="viewer")),
    ("GET", "/jobs/{job_id}/deliveries", "job.view_deliveries", of("GET", "/jobs/{}/deliveries", "job", by="viewer")),
    ("GET", "/jobs/{job_id}/partial", "job.link_partial", of("GET", "/jobs/{}/partial", "begun", by="viewer")),
    ("GET", "/jobs/{job_id}/results", "job.link_results", of("GET", "/jobs/{}/results", "finished", by="viewer")),
    ("POST", "/jobs/{job_id}/cancel", "job.cancel", of("POST", "/jobs/{}/cancel", "job")),
    ("POST", "/jobs/{job_id}/retry", "job.submit", of("POST", "/jobs/{}/retry", "cancelled")),
    (
        *("PUT", "/models/{name}/versions/{version}", "model.add"),
        lambda scene: ask(scene.admin, "PUT", NET, scene.package_body()),
    ),
    (
        *("POST", "/models/{name}/versions/{version}/parts", "model.link_parts"),
        of("POST", "{}/parts", "package", make_parts(PACKAGE["card.json"]), by="admin"),
    ),
    (
        *("POST", "/models/{name}/versions/{version}/complete", "model.complete"),
        of("POST", "{}/complete", "package", by="admin", is_sent=True),
    ),
    (
        *("PUT", "/models/{name}/default", "model.default"),
        of("PUT", "/models/{}/default", "model", {"version": "1"}, by="admin"),
    ),
    ("GET", "/webhooks/secret", "webhook_secret.read", lambda scene: ask(scene.admin, "GET", "/webhooks/secret")),
    (
        *("POST", "/webhooks/secret/rotate", "webhook_secret.rotate"),
        lambda scene: ask(scene.admin, "POST", "/webhooks/secret/rotate"),
    ),
    (
        *("PUT", "/slides/{slide_id}/legal-hold", "slide.hold"),
        of("PUT", "/slides/{}/legal-hold", "slide", {"held": True}, by="admin"),
    ),
    ("DELETE", "/jobs/{job_id}", "job.delete", of("DELETE", "/jobs/{}", "finished")),
    ("GET", "/usage", "usage.view", lambda scene: ask(scene.admin, "GET", "/usage")),
    ("GET", "/audit", "audit.view", lambda scene: ask(scene.admin, "GET", "/audit")),
)
#: By method and path: the action of the line, and what prepares the request.
CALLS = {(method, path): (action, prepare) for method, path, action, prepare in _RULES}

#: Routes that write no line, and why.
UNRECORDED = {
    ("GET", "/health"): "open to all",
    ("GET", "/openapi.json"): "open to all",
    ("GET", "/me"): "tells callers of themselves",
    ("GET", "/models"): "models are of the installation, and hold nothing of patients",
    ("GET", "/models/{name}"): "models are of the installation, and hold nothing of patients",
    ("GET", "/models/{name}/versions/{version}"): "models are of the installation, and hold nothing of patients",
    ("GET", "/models/{name}/versions/{version}/parts"): "sizes and digests of parts, for resuming an upload",
    ("GET", "/uploads/{slide_id}/parts"): "sizes and digests of parts, for resuming an upload",
}
#: Routes whose lines are looked for on a real Postgres, in tests/lambdas/administration/test_recorded.py.
ON_POSTGRES = {
    *(("GET", f"/admin/{noun}") for noun in ("people", "invitations", "keys", "quotas", "tenants")),
    *(("POST", f"/admin/{noun}") for noun in ("invitations", "keys", "tenants", "models")),
    *(("POST", f"/admin/tenants/{action}") for action in ("rename", "suspend", "resume")),
    ("DELETE", "/admin/invitations/{invitation_id}"),
    ("PATCH", "/admin/people/{person_id}"),
    *(("POST", f"/admin/people/{{person_id}}/{action}") for action in ("move", "hand-over")),
    ("POST", "/admin/keys/{key_id}/rotate"),
    *((method, "/admin/keys/{key_id}") for method in ("PATCH", "DELETE")),
    ("PATCH", "/admin/quotas"),
    ("POST", "/admin/models/builtin"),
    *(("GET", f"/admin/{noun}") for noun in ("sources", "retention", "dead-letters")),
    *(("POST", f"/admin/{action}") for action in ("sources", "sources/remove", "dead-letters/redrive")),
    ("PATCH", "/admin/retention"),
}
