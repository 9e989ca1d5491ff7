"""A subscriber to all updates of a tenant, from before the job until after it."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp

from tessera.api.watch import SUBSCRIPTION

START_SECONDS = 30.0
ID = "all"


class Subscriber:
    """A thread with a websocket of its own, in AppSync's realtime protocol."""

    def __init__(self, realtime_url: str, credential: str) -> None:
        self._url = realtime_url
        self._header = {"host": urlsplit(realtime_url).netloc, "Authorization": credential}
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="subscriber", daemon=True)
        self.heard: list[Mapping[str, Any]] = []  #: updates in the schema's names, in the order of arrival

    def start(self) -> None:
        """Start listening, and return once the subscription is acknowledged. Raises RuntimeError with the server's
        refusal."""
        self._thread.start()
        if not self._started.wait(START_SECONDS):
            raise RuntimeError("The subscription was not acknowledged.")
        if self._failure:
            raise RuntimeError(f"The subscription was refused: {self._failure}")

    def stop(self) -> None:
        if self._thread.is_alive() and self._task:
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join()

    def list_statuses(self, job_id: str) -> tuple[str, ...]:
        """Return the statuses of a job in the order received, each once."""
        return tuple(dict.fromkeys(update["status"] for update in self.heard if update["jobId"] == job_id))

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen_until_cancelled())

    async def _listen_until_cancelled(self) -> None:
        self._task = asyncio.ensure_future(self._listen())
        try:
            await self._task
        except asyncio.CancelledError:
            return
        except (aiohttp.ClientError, OSError) as error:
            self._failure = str(error)
            self._started.set()

    async def _listen(self) -> None:
        header = base64.b64encode(json.dumps(self._header).encode()).decode()
        url = f"{self._url}?header={quote(header, safe='')}&payload=e30="
        async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=("graphql-ws",)) as socket:
            await socket.send_json({"type": "connection_init"})
            async for message in socket:
                frame = json.loads(message.data)
                match frame["type"]:
                    case "connection_ack":
                        await socket.send_json(self._start())
                    case "start_ack":
                        self._started.set()
                    case "data":
                        self.heard.append(frame["payload"]["data"]["onJobUpdate"])
                    case "connection_error" | "error":
                        self._failure = json.dumps(frame["payload"])
                        self._started.set()

    def _start(self) -> dict[str, Any]:
        asked = json.dumps({"query": SUBSCRIPTION, "variables": {}})
        extensions = {"authorization": self._header}
        return {"id": ID, "type": "start", "payload": {"data": asked, "extensions": extensions}}
