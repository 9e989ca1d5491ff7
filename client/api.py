"""The REST API as typed calls. Answers keep what a client acts on; fields that it does not know are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from client.transport import Transport
from wsi.digests import PART_SIZE
from wsi.errors import Invalid
from wsi.estimate import Estimate
from wsi.outline import Outline
from wsi.records.fields import known_fields
from wsi.records.jobs import Priority
from wsi.records.notices import JobUpdate
from wsi.records.slides import Choice
from wsi.upload_rules import PartAsked
from wsi.uploads import PartHeld

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class GrantedPart:
    url: str  #: a presigned PUT. A secret: never logged
    headers: Mapping[str, str]  #: signed with the URL


@dataclass(frozen=True, kw_only=True, slots=True)
class Slide:
    slide_id: str
    status: str  #: SlideState
    reason: str | None
    sentence: str | None
    deidentify: bool = False  #: label and identifiers are to be removed
    deidentified: bool = False
    removed: dict[str, int] | None = None  #: what de-identification took out: counts of images, tags and files
    optical_path: str | None = None  #: of several, as the user chose it
    focal_plane: int | None = None
    picture: int | None = None
    inspection: dict[str, Any] | None = None  #: what inspection found, when READY


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    job_id: str
    slide_id: str
    status: str  #: JobState
    version: int
    progress_seq: int
    tiles_planned: int
    tiles_inferred: int
    tiles_unreadable: int
    reason: str | None
    sentence: str | None
    waiting_for_capacity: bool = False
    replayed: bool = False  #: the same Idempotency-Key came before
    reused: bool = False  #: an equal job had finished; its result is the answer


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultLink:
    name: str
    size: int  #: bytes
    sha256: str  #: hex
    url: str  #: a presigned GET. A secret: never logged


class Api:
    """Every call raises the typed errors of `wsi.errors`, with the API's own sentence."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    # --- uploads
    def begin_upload(
        self,
        files: Sequence[tuple[str, int]],
        *,
        mpp: float | None = None,
        choice: Choice | None = None,
        deidentify: bool = False,
    ) -> str:
        """The id of a slide in state UPLOADING, for files of (name, bytes). Not repeated when the answer is lost: it
        would make a second slide. Raises Invalid when the server's parts are not of the size that digests need."""
        body: dict[str, Any] = {"files": [{"name": name, "size": size} for name, size in files]}
        body |= _stated(mpp, choice)
        if deidentify:
            body["deidentify"] = True
        answer = self._transport.call("POST", "/uploads", body=body, repeatable=False)
        if answer["part_size"] != PART_SIZE:
            raise Invalid(f"The server wants parts of {answer['part_size']} bytes: this client is too old for it.")
        return answer["slide_id"]

    def grant_part(self, slide_id: str, part: PartAsked) -> GrantedPart:
        body = {"parts": [asdict(part)]}
        answer = self._transport.call("POST", f"/uploads/{slide_id}/parts", body=body, repeatable=True)
        return _read(GrantedPart, answer["parts"][0])

    def stored_parts(self, slide_id: str) -> tuple[PartHeld, ...]:
        return tuple(_read(PartHeld, item) for item in self._pages(f"/uploads/{slide_id}/parts"))

    def complete_upload(self, slide_id: str) -> Slide:
        return _read(Slide, self._transport.call("POST", f"/uploads/{slide_id}/complete", repeatable=True))

    # --- slides
    def register_slide(self, s3_uri: str, *, mpp: float | None = None, choice: Choice | None = None) -> str:
        """The id of a slide that stays in its bucket. Not repeated when the answer is lost: it would make a second
        slide."""
        body: dict[str, Any] = {"s3_uri": s3_uri} | _stated(mpp, choice)
        return self._transport.call("POST", "/slides", body=body, repeatable=False)["slide_id"]

    def slide(self, slide_id: str) -> Slide:
        return _read(Slide, self._transport.call("GET", f"/slides/{slide_id}", repeatable=True))

    def restate_slide(self, slide_id: str, fields: Mapping[str, Any]) -> Slide:
        """States `fields` of the slide, by the names of the API; None takes one back. Can be repeated: what is stated
        already changes nothing."""
        return _read(Slide, self._transport.call("PATCH", f"/slides/{slide_id}", body=fields, repeatable=True))

    # --- jobs
    def submit_job(
        self,
        slide_id: str,
        model: str,
        *,
        idempotency_key: str,
        priority: Priority = Priority.NORMAL,
        mpp: float | None = None,
        options: Mapping[str, Any] | None = None,
        outline: Outline | None = None,
        label: str | None = None,
        force: bool = False,
        notify: Mapping[str, str] | None = None,
    ) -> Job:
        """The key makes the call repeatable: however often it is sent, there is one job. `force` computes again what
        an equal job has computed. `notify`: "email" and "webhook", who is told of the end."""
        body: dict[str, Any] = {"slide_id": slide_id, "model": model, "priority": priority.value, "force": force}
        optional = {"mpp": mpp, "options": options or None, "label": label, "notify": notify or None}
        body |= {name: value for name, value in optional.items() if value is not None} | _drawn(outline)
        headers = {"Idempotency-Key": idempotency_key}
        return _read(Job, self._transport.call("POST", "/jobs", body=body, headers=headers, repeatable=True))

    def estimate(
        self, slide_id: str, model: str, *, options: Mapping[str, Any] | None = None, outline: Outline | None = None
    ) -> Estimate:
        """The dry run: what such a job would take. No job is made."""
        body: dict[str, Any] = {"slide_id": slide_id, "model": model} | _drawn(outline)
        if options:
            body["options"] = options
        answer = self._transport.call("POST", "/jobs", body=body, query={"dry_run": "true"}, repeatable=True)
        return _read(Estimate, answer)

    def job(self, job_id: str) -> Job:
        return _read(Job, self._job(job_id))

    def job_update(self, job_id: str) -> JobUpdate:
        """The job as a subscriber would see it."""
        return _read(JobUpdate, self._job(job_id))

    def results(self, job_id: str) -> tuple[ResultLink, ...]:
        return tuple(_read(ResultLink, item) for item in self._pages(f"/jobs/{job_id}/results"))

    def _job(self, job_id: str) -> Any:
        return self._transport.call("GET", f"/jobs/{job_id}", repeatable=True)

    # --- the installation
    def check_model(self, name: str) -> None:
        """Raises NotFound."""
        self._transport.call("GET", f"/models/{quote(name, safe='')}", repeatable=True)

    def realtime_url(self) -> str | None:
        """Where job updates can be subscribed to, when the installation says so."""
        return self._transport.call("GET", "/health", repeatable=True).get("realtime_url")

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            query = {"cursor": cursor} if cursor is not None else None
            page = self._transport.call("GET", path, query=query, repeatable=True)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return


def _stated(mpp: float | None, choice: Choice | None) -> dict[str, Any]:
    """Fields of a slide's request."""
    stated = {"mpp": mpp, **(choice.as_json() if choice is not None else {})}
    return {name: value for name, value in stated.items() if value is not None}


def _drawn(outline: Outline | None) -> dict[str, Any]:
    """Fields of a job's request."""
    if outline is None:
        return {}
    return {
        "region_geojson": {"type": "MultiPolygon", "coordinates": outline.polygons},
        "region_frame": outline.frame.value,
    }


def _read(kind: type[_Answer], value: Mapping[str, Any]) -> _Answer:
    return kind(**known_fields(kind, value))
