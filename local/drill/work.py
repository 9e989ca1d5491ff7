"""The work of an installation at the moment of its loss: slides, jobs that ended in each way, and jobs half-way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.s3.objects import S3Objects
from local.stack import Stack
from tessera.api.rest import Api, RemoteJob, RemoteSlide
from tessera.api.upload import upload
from tessera.local_run.sources import open_local_source
from wsi.models.builtin import STAIN_DENSITY
from wsi.models.package_files import CARD
from wsi.records.models import ModelVersion
from wsi.results.summary import NAME as SUMMARY
from wsi.states import JobState, SlideState

PATIENCE = 300.0  #: s for one slide or job
_PAUSE = 0.05  #: s between looks
_LOST_MODEL = "without-weights"
_Seen = TypeVar("_Seen")


class DrillFailed(RuntimeError):
    """The drill did not come to its end, or what came back is not what was lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Ids of what was there. `calm` ended before the loss; `live` did not, and ask for the same."""

    slide: str
    calm: str
    live: tuple[str, ...]


def fill_installation(stack: Stack, api: Api, slides: Sequence[Path]) -> Work:
    """Fill an installation. Of the first slide there are a finished job, one that lost its worker half-way, and one
    that no worker has begun; of a model without weights, a job that failed; and a slide that was refused, and an upload
    that nobody finished."""
    sent = [_send(api, path) for path in slides]
    worker = stack.workers.start()
    calm = wait_for_job(api, _submit(api, sent[0].slide_id))
    if not JobState(calm.status).is_success:
        raise DrillFailed(f"The job before the loss ended as {calm.status}: {calm.sentence}")
    failed = wait_for_job(api, _submit(api, sent[0].slide_id, _register_lost_model(stack)))
    if failed.status != JobState.FAILED:
        raise DrillFailed(f"The job of a model without weights ended as {failed.status}.")
    half_way = _submit(api, sent[0].slide_id)
    _wait(lambda: api.get_job(half_way.job_id).tiles_inferred > 0, "the first tiles of a job")
    stack.workers.kill(worker)
    _leave_unfinished(stack, api, slides[0])
    waiting = _submit(api, sent[0].slide_id)
    live = tuple(one.job_id for one in (half_way, waiting) if not JobState(api.get_job(one.job_id).status).is_final)
    return Work(slide=sent[0].slide_id, calm=calm.job_id, live=live)


def wait_for_job(api: Api, job: RemoteJob) -> RemoteJob:
    """Return the job once it has ended. Raises DrillFailed."""

    def look() -> RemoteJob | None:
        now = api.get_job(job.job_id)
        return now if JobState(now.status).is_final else None

    return _wait(look, f"the end of job {job.job_id}")


def list_digests(api: Api, job_id: str) -> Mapping[str, str]:
    """Return the SHA-256 of a job's result files by name, without the summary, which holds the job's id and times."""
    return {link.name: link.sha256 for link in api.list_results(job_id) if link.name != SUMMARY}


def _submit(api: Api, slide_id: str, model: str = STAIN_DENSITY.name) -> RemoteJob:
    return api.submit_job(slide_id, model, idempotency_key=str(uuid4()), force=True)


def _send(api: Api, path: Path) -> RemoteSlide:
    slide_id = upload(api, open_local_source(path).files)
    return _wait_for_slide(api, slide_id, SlideState.READY)


def _wait_for_slide(api: Api, slide_id: str, state: SlideState) -> RemoteSlide:
    def look() -> RemoteSlide | None:
        now = api.get_slide(slide_id)
        return now if now.status != SlideState.UPLOADED else None

    slide = _wait(look, "an inspection")
    if slide.status != state:
        raise DrillFailed(f"A slide is {slide.status}, not {state}: {slide.sentence}")
    return slide


def _register_lost_model(stack: Stack) -> str:
    """Register a version of whose package the card alone was uploaded, and return its name."""
    prefix = "by-hand/without-weights/"
    S3Objects(stack.clients, stack.options.buckets.models).put(f"{prefix}{CARD}", b"{}")
    card: dict[str, Any] = {**STAIN_DENSITY.as_json(), "name": _LOST_MODEL, "kind": "torchscript", "digest": "a" * 64}
    uri = f"s3://{stack.options.buckets.models}/{prefix}"
    connections = Connections(stack.addresses.system_dsn)
    try:
        PostgresSystemLedger(connections).register_model(
            ModelVersion(name=_LOST_MODEL, version=card["version"], digest=card["digest"], card=card, package_uri=uri)
        )
    finally:
        connections.close()
    return _LOST_MODEL


def _leave_unfinished(stack: Stack, api: Api, path: Path) -> None:
    broken = stack.folder / "broken.svs"
    broken.write_bytes(b"no slide" * 1000)
    _wait_for_slide(api, upload(api, open_local_source(broken).files), SlideState.REJECTED)
    api.begin_upload([(path.name, path.stat().st_size)])


def _wait(look: Callable[[], _Seen | None], what: str) -> _Seen:
    """Return what `look` sees first that is neither None nor False. Raises DrillFailed."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if (seen := look()) not in (None, False):
            return seen
        time.sleep(_PAUSE)
    raise DrillFailed(f"Not within {PATIENCE:.0f} s: {what}.")
