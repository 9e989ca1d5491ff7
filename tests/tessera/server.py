"""A small real HTTP server standing for the API and for S3's presigned URLs, on a thread."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

BASE = "/api/v1/wsi"
SLIDE, JOB = "slide-1", "job-1"
PROBLEM = "application/problem+json"


@dataclass
class Installation:
    """Its state, and how it misbehaves: what `refuse_puts` and `fail_calls` name is refused that often first."""

    part_size: int = 16 * 1024 * 1024
    refuse_puts: dict[tuple[int, int], int] = field(default_factory=dict)
    fail_calls: dict[str, int] = field(default_factory=dict)
    stored: dict[tuple[int, int], bytes] = field(default_factory=dict)
    granted: list[tuple[int, int]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    credentials: set[str] = field(default_factory=set)
    job: dict[str, Any] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)  #: the last job's request
    exact: dict[str, bool] = field(default_factory=lambda: {"exact": True})  #: what a dry run says of its count
    files: list[str] = field(default_factory=list)  #: names of the last upload's
    begun: dict[str, Any] = field(default_factory=dict)  #: what the last upload stated beside its files
    completed: bool = False  #: the upload
    restated: list[dict[str, Any]] = field(default_factory=list)  #: bodies of PATCH, in order
    looks: list[dict[str, Any]] = field(default_factory=list)  #: what the next looks at the slide say; then it is READY
    held: list[dict[str, Any]] = field(default_factory=list)  #: bodies of what begins and ends holds, in order
    conflict: str | None = None  #: why PATCH and DELETE are refused
    page: int = 2  #: items a page
    models: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)  #: the answer to GET /usage
    queries: list[dict[str, str]] = field(default_factory=list)  #: of GET /usage
    url: str = ""

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get(f"{BASE}/health", self.health),
            web.post(f"{BASE}/uploads", self.begin),
            web.post(f"{BASE}/uploads/{SLIDE}/parts", self.grant),
            web.get(f"{BASE}/uploads/{SLIDE}/parts", self.listed),
            web.post(f"{BASE}/uploads/{SLIDE}/complete", self.complete),
            web.get(f"{BASE}/slides/{SLIDE}", self.slide),
            web.patch(f"{BASE}/slides/{SLIDE}", self.restate),
            web.delete(f"{BASE}/slides/{SLIDE}", self.delete),
            web.put(f"{BASE}/slides/{SLIDE}/legal-hold", self.hold),
            web.delete(f"{BASE}/jobs/{JOB}", self.delete),
            web.post(f"{BASE}/jobs", self.submit),
            web.get(f"{BASE}/usage", self.read_usage),
            web.get(f"{BASE}/jobs/{JOB}", self.get_job),
            web.get(f"{BASE}/jobs/{JOB}/results", self.links),
            web.get(f"{BASE}/models", self.list_models),
            web.put("/s3/{file}/{n}/{sha256}/{serial}", self.put),
            web.get("/s3/results/{name}", self.fetch),
        ]

    @web.middleware
    async def middleware(self, request: web.Request, handler: Any) -> web.StreamResponse:
        call = f"{request.method} {request.path.removeprefix(BASE)}"
        self.calls.append(call)
        if request.path.startswith(BASE):
            self.credentials.add(request.headers.get("Authorization", ""))
        if self.fail_calls.get(call, 0):
            self.fail_calls[call] -= 1
            return web.json_response({"detail": "Try again in a moment."}, status=503, content_type=PROBLEM)
        return await handler(request)

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "realtime_url": None})

    async def begin(self, request: web.Request) -> web.Response:
        body = await request.json()
        files = body.pop("files")
        self.begun, self.files = body, [file["name"] for file in files]
        opened = [{"file": number, "upload_id": "u"} for number in range(len(files))]
        return web.json_response({"slide_id": SLIDE, "part_size": self.part_size, "files": opened}, status=201)

    async def grant(self, request: web.Request) -> web.Response:
        parts = (await request.json())["parts"]
        answer: list[dict[str, Any]] = []
        for part in parts:
            self.granted.append((part["file"], part["n"]))
            url = f"{self.url}/s3/{part['file']}/{part['n']}/{part['sha256']}/{len(self.granted)}"
            checksum = base64.b64encode(bytes.fromhex(part["sha256"])).decode()
            headers = {"x-amz-checksum-sha256": checksum}
            answer.append({"file": part["file"], "n": part["n"], "url": url, "headers": headers})
        return web.json_response({"parts": answer})

    async def put(self, request: web.Request) -> web.Response:
        key = (int(request.match_info["file"]), int(request.match_info["n"]))
        data = await request.read()
        digest = hashlib.sha256(data)
        signed = base64.b64encode(digest.digest()).decode()
        if digest.hexdigest() != request.match_info["sha256"] or request.headers["x-amz-checksum-sha256"] != signed:
            return web.Response(status=400)
        if self.refuse_puts.get(key, 0):
            self.refuse_puts[key] -= 1
            return web.Response(status=500)
        self.stored[key] = data
        return web.Response()

    async def listed(self, request: web.Request) -> web.Response:
        parts = [
            {"file": file, "n": n, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for (file, n), data in sorted(self.stored.items())
        ]
        first = int(request.query.get("cursor", 0))
        following = first + self.page
        cursor = str(following) if following < len(parts) else None
        body = {"part_size": self.part_size, "items": parts[first:following], "next_cursor": cursor}
        return web.json_response(body)

    async def complete(self, request: web.Request) -> web.Response:
        self.completed = True
        return await self.slide(request)

    async def restate(self, request: web.Request) -> web.Response:
        self.completed = True
        if self.conflict is not None:
            return web.json_response({"detail": self.conflict}, status=409, content_type=PROBLEM)
        self.restated.append(await request.json())
        return await self.slide(request)

    async def delete(self, request: web.Request) -> web.Response:
        if self.conflict is not None:
            return web.json_response({"detail": self.conflict}, status=409, content_type=PROBLEM)
        return web.Response(status=204)

    async def hold(self, request: web.Request) -> web.Response:
        self.held.append(await request.json())
        return await self.slide(request)

    async def slide(self, request: web.Request) -> web.Response:
        clean = {"deidentified": True, "removed": {"images": 2, "tags": 16, "files": 0}}
        clean |= {"deidentify": True}
        more = clean if self.begun.get("deidentify") else {"deidentified": False, "removed": None}
        status = "READY" if self.completed else "UPLOADING"
        said = {"slide_id": SLIDE, "status": status, "reason": None, "sentence": None, "version": 3}
        return web.json_response(said | more | (self.looks.pop(0) if self.looks else {}))

    async def submit(self, request: web.Request) -> web.Response:
        self.asked = await request.json()
        if request.query.get("dry_run") == "true":
            return web.json_response({"tiles": 1200, "shards": 2, "seconds": 60.5, "dollars": 0.01} | self.exact)
        self.job = {**self.job, "key": request.headers["Idempotency-Key"]}
        return await self.get_job(request)

    async def get_job(self, request: web.Request) -> web.Response:
        return web.json_response({**self.job, "job_id": JOB})

    async def read_usage(self, request: web.Request) -> web.Response:
        self.queries.append(dict(request.query))
        return web.json_response(self.usage)

    async def links(self, request: web.Request) -> web.Response:
        items = [
            {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "media_type": "x/y"}
            | {"url": f"{self.url}/s3/results/{name}"}
            for name, data in self.results.items()
        ]
        return web.json_response({"items": items, "next_cursor": None})

    async def list_models(self, request: web.Request) -> web.Response:
        return web.json_response({"items": self.models, "next_cursor": None})

    async def fetch(self, request: web.Request) -> web.Response:
        return web.Response(body=self.results[request.match_info["name"]])


@contextmanager
def served(installation: Installation) -> Iterator[str]:
    """Its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[web.AppRunner, int]:
        app = web.Application(middlewares=[installation.middleware], client_max_size=64 * 1024**2)
        app.add_routes(installation.routes())
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return runner, runner.addresses[0][1]

    runner, port = asyncio.run_coroutine_threadsafe(start(), loop).result()
    installation.url = f"http://127.0.0.1:{port}"
    try:
        yield installation.url
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
