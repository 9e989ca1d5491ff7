"""The real resolver files in one long-lived Node process."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVALUATOR = Path(__file__).parent / "node" / "evaluate.mjs"
SECONDS = 10.0  #: AppSync's own bound of a resolver is shorter


class ResolverRefused(Exception):
    """The resolver threw: `util.unauthorized()`, `util.error()`, or a fault in its code."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Evaluated:
    result: Any
    filter: Mapping[str, Any] | None  #: what `extensions.setSubscriptionFilter` was given: {"filterGroup": […]}
    invalidation_filter: Mapping[str, Any] | None = None  #: of `extensions.setSubscriptionInvalidationFilter`
    #: of `extensions.invalidateSubscriptions`: {"subscriptionField": …, "payload": {…}}
    invalidations: Sequence[Mapping[str, Any]] = ()


class Resolvers:
    """The resolvers in `folder`, which holds a file for each field, named after it. For one event loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._process: Process | None = None
        self._ids = itertools.count()
        self._one_at_a_time = asyncio.Lock()

    async def start(self) -> None:
        node = shutil.which("node")
        if node is None:
            raise RuntimeError("Node is not installed; the resolvers of AppSync need version 20 or later.")
        self._process = await asyncio.create_subprocess_exec(
            node, str(EVALUATOR), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=1024**2
        )

    async def stop(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def resolve(self, field: str, context: Mapping[str, Any]) -> Evaluated:
        """Run the request handler, a NONE data source (its result is the payload) and the response handler. Raises
        ResolverRefused."""
        requested = await self._call(field, "request", context)
        payload = (requested.result or {}).get("payload")
        return await self._call(field, "response", {**context, "result": payload})

    def has(self, field: str) -> bool:
        return self._file(field).exists()

    def _file(self, field: str) -> Path:
        return self._folder / f"{field}.js"

    async def _call(self, field: str, handler: str, context: Mapping[str, Any]) -> Evaluated:
        asked = {"id": next(self._ids), "file": str(self._file(field)), "handler": handler, "ctx": context}
        async with self._one_at_a_time, asyncio.timeout(SECONDS):
            if self._process is None or self._process.stdin is None or self._process.stdout is None:
                raise RuntimeError("The resolvers were not started.")
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            await self._process.stdin.drain()
            line = await self._process.stdout.readline()
            while line and json.loads(line)["id"] != asked["id"]:  # the late answer to one that timed out
                line = await self._process.stdout.readline()
        if not line:
            raise ResolverRefused("InternalFailure", "The resolver process ended.")
        answer = json.loads(line)
        if "error" in answer:
            raise ResolverRefused(answer["error"]["type"], answer["error"]["message"])
        return Evaluated(
            answer["result"], answer["filter"], answer["invalidationFilter"], tuple(answer["invalidations"])
        )
