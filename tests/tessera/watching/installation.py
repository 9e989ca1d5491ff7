"""The real API on the in-memory ports, behind HTTP: parts go to the port that stands for S3, and what was uploaded is
accepted at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from lambdas.wiring import ApiWiring
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from tests.fakes.objects import MemoryObjects
from tests.fakes.slides import MemorySlideStore
from tests.installation import ALLOWED_BUCKET, ANALYST, INSPECTION, SCALING, Installation
from tests.lambdas.rest import whole_handler
from wsi.errors import FailReason
from wsi.records.jobs import Job, JobFilter
from wsi.records.results import ResultFile
from wsi.records.slides import Slide
from wsi.sources.source import Source
from wsi.states import JobState, SlideState

KEY = "tsk_a_b"
RESULT = b"minx,miny\n"


class HttpSlideStore(MemorySlideStore):
    """Its presigned URLs lead to a server."""

    root = ""

    def presign_part(self, uri: str, upload_id: str, *, n: int, size: int, sha256: str, seconds: int) -> str:
        signed = super().presign_part(uri, upload_id, n=n, size=size, sha256=sha256, seconds=seconds)
        return f"{self.root}/s3/?{signed.partition('?')[2]}"


class HttpObjects(MemoryObjects):
    root = ""

    def presign_download(self, key: str, *, filename: str, seconds: int) -> str:
        return f"{self.root}/s3/{key}"


@dataclass
class ServedInstallation(Installation):
    parts: int = 0  #: that arrived
    most_parts: int | None = None  #: that S3 takes
    ends_jobs: bool = True  #: as soon as they were made
    fails_jobs: int = 0  #: the first ones that it ends
    buckets: tuple[str, ...] = (ALLOWED_BUCKET,)  #: from which slides may be registered

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ledger.set_sources(ANALYST.tenant, *map(Source, self.buckets))
        self.slides = HttpSlideStore(
            allowed_buckets=self.buckets, clock=self.clock, list_sources=self.ledger.list_sources
        )
        self.objects = HttpObjects()
        self._handler = whole_handler(
            ApiWiring(
                ledger=self.ledger,
                slides=self.slides,
                packages=MemorySlideStore("tessera-models"),
                objects=self.objects,
                queues=self.queues,
                dollars_per_gpu_hour=1.0,
                scaling=SCALING,
                clock=self.clock,
            )
        )

    def known_slides(self) -> tuple[Slide, ...]:
        return tuple(self.ledger.list_slides(ANALYST, q=None, state=None, cursor=None, limit=100).items)

    def known_jobs(self) -> tuple[Job, ...]:
        return tuple(self.ledger.list_jobs(ANALYST, JobFilter(), cursor=None, limit=100).items)

    def end_jobs(self) -> None:
        for job in self.known_jobs():
            if job.state is not JobState.QUEUED:
                continue
            if self.fails_jobs:
                self.fails_jobs -= 1
                assert self.ledger.fail_job(job.id, FailReason.POISON_SHARD, "A shard failed three times.")
            else:
                key = f"results/{job.id}/tiles.csv"
                self.objects.put(key, RESULT)
                digest = hashlib.sha256(RESULT).hexdigest()
                file = ResultFile(name="tiles.csv", key=key, size=len(RESULT), sha256=digest, media_type="text/csv")
                assert self.ledger.begin_planning(job.id)
                assert self.ledger.finish_without_tissue(job.id, (file,))

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_put("/s3/", self._put)
        app.router.add_get("/s3/{key:.*}", self._get)
        app.add_subapp("/api", make_api_app(self._answer, self._authorise, public_paths=[]))
        return app

    def _answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        answer = self._handler(event, context)
        for slide in self.known_slides():
            if slide.state is SlideState.UPLOADED:
                assert self.ledger.accept_slide(slide.id, INSPECTION.as_json(), "thumbnail.jpeg", version=slide.version)
        if self.ends_jobs:
            self.end_jobs()
        return answer

    def _authorise(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        if event["headers"].get("Authorization") != f"Bearer {KEY}":
            raise RuntimeError("Unauthorized")
        allowed = {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": event["methodArn"]}
        who = {"tenant": str(ANALYST.tenant), "subject": ANALYST.subject, "role": ANALYST.role.value}
        policy = {"Version": "2012-10-17", "Statement": [allowed]}
        return {"principalId": ANALYST.subject, "policyDocument": policy, "context": who}

    async def _put(self, request: web.Request) -> web.Response:
        if self.most_parts is not None and self.parts >= self.most_parts:
            return web.Response(status=500)
        self.parts += 1
        self.slides.put_part(f"memory://parts/?{request.query_string}", await request.read())
        return web.Response()

    async def _get(self, request: web.Request) -> web.Response:
        return web.Response(body=self.objects.get(request.match_info["key"]))


@contextmanager
def serving(installation: ServedInstallation) -> Iterator[str]:
    """Its address."""
    server = HttpServer("installation", installation.app)
    server.start()
    HttpSlideStore.root = HttpObjects.root = server.url
    try:
        yield server.url
    finally:
        server.stop()
