"""The real API on the in-memory ports, behind HTTP: uploads go to the port that stands for S3, inspection accepts what
was uploaded at once, and a test decides when jobs end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aiohttp import web

from lambdas.api import make_handler
from lambdas.wiring import ApiWiring
from local.http_api import api_app
from local.http_server import HttpServer
from tests.installation import ALLOWED_BUCKET, ANALYST, INSPECTION, Installation
from wsi.memory.slides import MemorySlideStore
from wsi.records.jobs import JobFilter
from wsi.states import SlideState

KEY = "tsk_a_b"


class HttpSlideStore(MemorySlideStore):
    """Its presigned URLs lead to the server."""

    root = ""

    def part_url(self, uri: str, upload_id: str, *, n: int, size: int, sha256: str, seconds: int) -> str:
        signed = super().part_url(uri, upload_id, n=n, size=size, sha256=sha256, seconds=seconds)
        return f"{self.root}/s3/?{signed.partition('?')[2]}"


@dataclass
class Api(Installation):
    url: str = ""
    puts: int = 0
    break_after: int | None = None  #: PUTs that S3 takes
    down: bool = False  #: answers 503 to everything
    keys: set[str] = field(default_factory=lambda: {KEY})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.slides = HttpSlideStore(allowed_buckets=[ALLOWED_BUCKET], clock=self.clock)
        self._handler = make_handler(
            ApiWiring(
                ledger=self.ledger,
                slides=self.slides,
                objects=self.objects,
                queues=self.queues,
                allowed_buckets=frozenset({ALLOWED_BUCKET}),
                dollars_per_gpu_hour=1.0,
                clock=self.clock,
            )
        )

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024**2, middlewares=[self._gate])
        app.router.add_put("/s3/", self._put)
        app.add_subapp("/", api_app(self._answer, self._authorise, public_paths=[]))
        return app

    def jobs(self) -> list[Any]:
        return list(self.ledger.jobs(ANALYST, JobFilter(), cursor=None, limit=100).items)

    def uploads(self) -> list[Any]:
        return list(self.ledger.slides(ANALYST, q=None, state=None, cursor=None, limit=100).items)

    @web.middleware
    async def _gate(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.down:
            return web.json_response({"detail": "Down for maintenance."}, status=503)
        return await handler(request)

    def _answer(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        answer = self._handler(event, context)
        for slide in self.uploads():
            if slide.state is SlideState.UPLOADED:
                assert self.ledger.accept_slide(slide.id, INSPECTION.as_json(), "thumbnail.jpeg")
        return answer

    def _authorise(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        if not {value for name, value in event["headers"].items() if name.lower() == "authorization"} & self.keys:
            raise RuntimeError("Unauthorized")
        found = {"tenant": str(ANALYST.tenant), "subject": ANALYST.subject, "role": ANALYST.role.value}
        allowed = {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": event["methodArn"]}
        return {
            "principalId": ANALYST.subject,
            "policyDocument": {"Version": "2012-10-17", "Statement": [allowed]},
            "context": found,
        }

    async def _put(self, request: web.Request) -> web.Response:
        if self.break_after is not None and self.puts >= self.break_after:
            await asyncio.sleep(0)
            return web.Response(status=500)
        self.puts += 1
        self.slides.put_part(f"memory://parts/?{request.query_string}", await request.read())
        return web.Response()


@contextmanager
def served(api: Api) -> Iterator[str]:
    server = HttpServer("api", api.app)
    server.start()
    api.url = HttpSlideStore.root = server.url
    try:
        yield server.url
    finally:
        server.stop()


def job_id(text: str) -> UUID:
    return UUID(text)
