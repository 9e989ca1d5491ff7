"""A lab's view of the embedded stack: upload, ask, wait, read what came out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import psycopg
from psycopg.rows import dict_row

from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.s3.objects import S3Objects
from inference.models.wsinfer import FILES
from local.options import DATABASE, MODELS
from local.stack import Stack
from tessera.api.rest import Api, RemoteJob, RemoteSlide
from tessera.api.transport import Transport
from tessera.api.upload import upload
from tessera.local_run.sources import open_local_source
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.states import JobState, SlideState

Seen = TypeVar("Seen")


def eventually(look: Callable[[], Seen | None], *, seconds: float, what: str) -> Seen:
    """What `look` sees first that is neither None nor False."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = look()
        if seen is not None and seen is not False:
            return seen
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds:g} s")


@dataclass(frozen=True)
class Lab:
    stack: Stack

    @cached_property
    def transport(self) -> Transport:
        return Transport(self.stack.api_url, self.stack.api_key)

    @property
    def api(self) -> Api:
        return Api(self.transport)

    def upload(self, path: Path, *, mpp: float | None = None) -> RemoteSlide:
        """The slide once it is inspected: READY or REJECTED."""
        source = open_local_source(path)
        slide_id = upload(self.api, source.files, mpp=mpp)

        def inspected() -> RemoteSlide | None:
            slide = self.api.get_slide(slide_id)
            return slide if slide.status != SlideState.UPLOADED else None

        return eventually(inspected, seconds=60, what="inspection")

    def register(self, card: ModelCard, package: Path | None = None) -> str:
        """The model's name. `package`: its folder, of WSInfer's layout; None for one that is built in."""
        uri = None
        if package is not None:
            objects = S3Objects(self.stack.clients, MODELS)
            for name in FILES:
                objects.put(f"{card.digest}/{name}", (package / name).read_bytes())
            uri = f"s3://{MODELS}/{card.digest}/"
        version = ModelVersion(
            name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=uri
        )
        connections = Connections(self.stack.postgres.make_dsn("tessera_system", DATABASE))
        try:
            PostgresSystemLedger(connections).register_model(version)
        finally:
            connections.close()
        return card.name

    def submit(self, slide: RemoteSlide, *, model: str = "stain-density", **asked: Any) -> RemoteJob:
        """`asked`: mpp, options."""
        return self.api.submit_job(slide.slide_id, model, idempotency_key=str(uuid4()), force=True, **asked)

    def wait(self, job: RemoteJob, *, seconds: float = 120) -> RemoteJob:
        def final() -> RemoteJob | None:
            now = self.api.get_job(job.job_id)
            return now if JobState(now.status).is_final else None

        return eventually(final, seconds=seconds, what="the end of the job")

    def run(self, slide: RemoteSlide, *, model: str = "stain-density", seconds: float = 120, **asked: Any) -> RemoteJob:
        return self.wait(self.submit(slide, model=model, **asked), seconds=seconds)

    def cancel(self, job: RemoteJob) -> None:
        """So that the workers of later tests do not take it up."""
        self.transport.call("POST", f"/jobs/{job.job_id}/cancel", repeatable=True)

    def results(self, job: RemoteJob) -> dict[str, bytes]:
        return {link.name: httpx.get(link.url).raise_for_status().content for link in self.api.list_results(job.job_id)}

    def sql(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """As the role of workers and relay, never as the owner."""
        dsn = self.stack.postgres.make_dsn("tessera_system", DATABASE)
        with psycopg.connect(dsn, row_factory=dict_row) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def events(self, job: RemoteJob, kind: str) -> list[dict[str, Any]]:
        """The details of the job's events of one kind, oldest first."""
        rows = self.sql("SELECT detail FROM job_events WHERE job_id = %s AND kind = %s ORDER BY seq", job.job_id, kind)
        return [row["detail"] for row in rows]

    def commits_by_worker(self, job: RemoteJob) -> Counter[str]:
        return Counter(detail["owner"] for detail in self.events(job, "shard_committed"))

    def moves(self, job: RemoteJob) -> list[str]:
        return [detail["state"] for detail in self.events(job, "moved")]

    def shard(self, job: RemoteJob, index: int) -> dict[str, Any]:
        (row,) = self.sql("SELECT * FROM shards WHERE job_id = %s AND index = %s", job.job_id, index)
        return row
