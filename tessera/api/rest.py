"""The REST API as typed calls. Answers keep what a client acts on; fields that it does not know are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, TypeVar
from urllib.parse import quote

from tessera.api.transport import Transport
from wsi.audit.export import read_line
from wsi.digests import PART_SIZE
from wsi.errors import Invalid
from wsi.models.registration_rules import NewPackageFile
from wsi.planning.estimate import Estimate
from wsi.records.audit.lines import AuditLine
from wsi.records.fields import select_known_fields
from wsi.records.jobs import JobTerms
from wsi.records.notices import JobUpdate
from wsi.records.operations.usage import UsageBy
from wsi.records.outline import Outline
from wsi.records.slides import Choice
from wsi.uploads.multipart import PartHeld
from wsi.uploads.rules import PartAsked

_Answer = TypeVar("_Answer")

DEFAULT_TERMS = JobTerms()


@dataclass(frozen=True, kw_only=True, slots=True)
class PartGrant:
    url: str  #: a presigned PUT. A secret: never logged
    headers: Mapping[str, str]  #: signed with the URL


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteSlide:
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
class RemoteJob:
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
    waiting_for: str | None = None  #: in a few words, until a worker computes it
    expected_start_at: str | None = None  #: an estimate and no promise: ISO 8601
    expected_end_at: str | None = None
    replayed: bool = False  #: the same Idempotency-Key came before
    reused: bool = False  #: an equal job had finished; its result is the answer
    shared: bool = False  #: an equal job was under way; its result will be the answer


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultLink:
    name: str
    size: int  #: bytes
    sha256: str  #: hex
    url: str  #: a presigned GET. A secret: never logged


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteModelVersion:
    name: str
    version: str
    status: str  #: RegistrationState
    reason: str | None = None
    sentence: str | None = None
    is_default: bool = False
    owner: str | None = None  #: "tenant" or "installation"; None from an installation of an earlier release
    digest: str | None = None
    measured: dict[str, Any] | None = None  #: what the worker that tried it saw


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
        """Begin an upload of files of (name, bytes), and return the id of its slide, in state UPLOADING. Not repeated
        when the answer is lost: that would make a second slide. Raises Invalid when the server's parts are not of the
        size that digests need."""
        body: dict[str, Any] = {"files": [{"name": name, "size": size} for name, size in files]}
        body |= _make_slide_fields(mpp, choice)
        if deidentify:
            body["deidentify"] = True
        answer = self._transport.call("POST", "/uploads", body=body, repeatable=False)
        if answer["part_size"] != PART_SIZE:
            raise Invalid(f"The server wants parts of {answer['part_size']} bytes: this client is too old for it.")
        return answer["slide_id"]

    def grant_part(self, slide_id: str, part: PartAsked) -> PartGrant:
        body = {"parts": [asdict(part)]}
        answer = self._transport.call("POST", f"/uploads/{slide_id}/parts", body=body, repeatable=True)
        return _read(PartGrant, answer["parts"][0])

    def list_stored_parts(self, slide_id: str) -> tuple[PartHeld, ...]:
        return tuple(_read(PartHeld, item) for item in self._pages(f"/uploads/{slide_id}/parts"))

    def complete_upload(self, slide_id: str) -> RemoteSlide:
        return _read(RemoteSlide, self._transport.call("POST", f"/uploads/{slide_id}/complete", repeatable=True))

    # --- slides
    def register_slide(self, s3_uri: str, *, mpp: float | None = None, choice: Choice | None = None) -> str:
        """Register a slide that stays in its bucket, and return its id. Not repeated when the answer is lost: that
        would make a second slide."""
        body: dict[str, Any] = {"s3_uri": s3_uri} | _make_slide_fields(mpp, choice)
        return self._transport.call("POST", "/slides", body=body, repeatable=False)["slide_id"]

    def get_slide(self, slide_id: str) -> RemoteSlide:
        return _read(RemoteSlide, self._transport.call("GET", f"/slides/{slide_id}", repeatable=True))

    def restate_slide(self, slide_id: str, fields: Mapping[str, Any]) -> RemoteSlide:
        """State `fields` of the slide, by the names of the API; None takes one back. Can be repeated: what is stated
        already changes nothing."""
        return _read(RemoteSlide, self._transport.call("PATCH", f"/slides/{slide_id}", body=fields, repeatable=True))

    def delete_slide(self, slide_id: str) -> None:
        """Delete a slide with its jobs and results, for good."""
        self._transport.call("DELETE", f"/slides/{slide_id}", repeatable=True)

    def set_legal_hold(self, slide_id: str, *, held: bool) -> None:
        """Begin or end the legal hold of a slide."""
        self._transport.call("PUT", f"/slides/{slide_id}/legal-hold", body={"held": held}, repeatable=True)

    # --- jobs
    def delete_job(self, job_id: str) -> None:
        """Delete a job that has ended, with its results, for good."""
        self._transport.call("DELETE", f"/jobs/{job_id}", repeatable=True)

    def submit_job(
        self,
        slide_id: str,
        model: str,
        *,
        idempotency_key: str,
        mpp: float | None = None,
        options: Mapping[str, Any] | None = None,
        outline: Outline | None = None,
        terms: JobTerms = DEFAULT_TERMS,
        force: bool = False,
    ) -> RemoteJob:
        """Start a job. The key makes the call repeatable: however often it is sent, there is one job. `force` computes
        again what an equal job has computed."""
        body: dict[str, Any] = {"slide_id": slide_id, "model": model, "force": force, **_make_terms_fields(terms)}
        optional = {"mpp": mpp, "options": options or None}
        body |= {name: value for name, value in optional.items() if value is not None} | _make_outline_fields(outline)
        headers = {"Idempotency-Key": idempotency_key}
        return _read(RemoteJob, self._transport.call("POST", "/jobs", body=body, headers=headers, repeatable=True))

    def estimate(
        self, slide_id: str, model: str, *, options: Mapping[str, Any] | None = None, outline: Outline | None = None
    ) -> Estimate:
        """Return what such a job would take, by a dry run. No job is made."""
        body: dict[str, Any] = {"slide_id": slide_id, "model": model} | _make_outline_fields(outline)
        if options:
            body["options"] = options
        answer = self._transport.call("POST", "/jobs", body=body, query={"dry_run": "true"}, repeatable=True)
        return _read(Estimate, answer)

    def get_job(self, job_id: str) -> RemoteJob:
        return _read(RemoteJob, self._job(job_id))

    def get_job_update(self, job_id: str) -> JobUpdate:
        """Return the job as a subscriber would see it."""
        return self.get_job_view(job_id)[1]

    def get_job_view(self, job_id: str) -> tuple[RemoteJob, JobUpdate]:
        """Return the job, and the same as a subscriber would see it."""
        answer = self._job(job_id)
        return _read(RemoteJob, answer), _read(JobUpdate, answer)

    def list_results(self, job_id: str) -> tuple[ResultLink, ...]:
        return tuple(_read(ResultLink, item) for item in self._pages(f"/jobs/{job_id}/results"))

    def _job(self, job_id: str) -> Any:
        return self._transport.call("GET", f"/jobs/{job_id}", repeatable=True)

    def check_model(self, name: str) -> None:
        """Raise NotFound unless the installation has the model."""
        self._transport.call("GET", f"/models/{quote(name, safe='')}", repeatable=True)

    # --- usage
    def read_usage(self, by: UsageBy, *, first: date | None, last: date | None, mine: bool) -> dict[str, Any]:
        """Return the report as the API gives it. `mine`: of the caller alone; everything else is for admins."""
        query = {"by": by.value}
        query |= {name: day.isoformat() for name, day in (("from", first), ("to", last)) if day is not None}
        query |= {"mine": "true"} if mine else {}
        return self._transport.call("GET", "/usage", query=query, repeatable=True)

    # --- models
    def list_models(self) -> tuple[RemoteModelVersion, ...]:
        """List the versions that take jobs of this tenant: its own and the installation's."""
        return tuple(_read(RemoteModelVersion, {**item, "status": "READY"}) for item in self._pages("/models"))

    def add_model(
        self, name: str, version: str, files: Sequence[NewPackageFile], *, becomes_default: bool
    ) -> RemoteModelVersion:
        """Begin to add a version, or return how far the same package is. Can be repeated."""
        body = {"files": [asdict(file) for file in files], "default": becomes_default}
        return _read(
            RemoteModelVersion, self._transport.call("PUT", _version(name, version), body=body, repeatable=True)
        )

    def get_model_version(self, name: str, version: str) -> RemoteModelVersion:
        return _read(RemoteModelVersion, self._transport.call("GET", _version(name, version), repeatable=True))

    def grant_package_part(self, name: str, version: str, part: PartAsked) -> PartGrant:
        body = {"parts": [asdict(part)]}
        answer = self._transport.call("POST", f"{_version(name, version)}/parts", body=body, repeatable=True)
        return _read(PartGrant, answer["parts"][0])

    def list_stored_package_parts(self, name: str, version: str) -> tuple[PartHeld, ...]:
        return tuple(_read(PartHeld, item) for item in self._pages(f"{_version(name, version)}/parts"))

    def complete_model(self, name: str, version: str) -> RemoteModelVersion:
        answer = self._transport.call("POST", f"{_version(name, version)}/complete", repeatable=True)
        return _read(RemoteModelVersion, answer)

    def choose_default(self, name: str, version: str) -> None:
        path = f"/models/{quote(name, safe='')}/default"
        self._transport.call("PUT", path, body={"version": version}, repeatable=True)

    # --- the installation
    def find_realtime_url(self) -> str | None:
        """Return the URL for subscriptions to job updates; None unless the installation states it."""
        return self._transport.call("GET", "/health", repeatable=True).get("realtime_url")

    # --- audit
    def list_audit(self, **wanted: str) -> Iterator[AuditLine]:
        """Yield the lines of the audit log, newest first; `wanted` are query parameters of the route."""
        return map(read_line, self._pages("/audit", limit="1000", **wanted))

    def _pages(self, path: str, **parameters: str) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            query = {**parameters, "cursor": cursor} if cursor is not None else parameters or None
            page = self._transport.call("GET", path, query=query, repeatable=True)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return


def _version(name: str, version: str) -> str:
    return f"/models/{quote(name, safe='')}/versions/{quote(version, safe='')}"


def _make_slide_fields(mpp: float | None, choice: Choice | None) -> dict[str, Any]:
    """Return the fields of a slide's request that are set."""
    stated = {"mpp": mpp, **(choice.as_json() if choice is not None else {})}
    return {name: value for name, value in stated.items() if value is not None}


def _make_terms_fields(terms: JobTerms) -> dict[str, Any]:
    """Return the fields of a job's request that state its terms."""
    stated = {name: value for name, value in terms.get_terms().items() if value is not None}
    notify = {name.removeprefix("notify_"): stated.pop(name) for name in list(stated) if name.startswith("notify_")}
    return {**stated, **({"notify": notify} if notify else {})}


def _make_outline_fields(outline: Outline | None) -> dict[str, Any]:
    """Return the fields of a job's request that state its region."""
    if outline is None:
        return {}
    return {
        "region_geojson": {"type": "MultiPolygon", "coordinates": outline.polygons},
        "region_frame": outline.frame.value,
    }


def _read(kind: type[_Answer], value: Mapping[str, Any]) -> _Answer:
    return kind(**select_known_fields(kind, value))
