"""Watching a job: push is a hint, the API is the truth.

Subscribe, read a snapshot on `start_ack`, merge by (version, progress_seq), read again some seconds later (an event
right after `start_ack` can still be lost: aws-appsync-community#405), every 30 s and after each reconnect. Without a
realtime URL, or while the websocket cannot connect, read every two seconds.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from gql import Client, GraphQLRequest
from gql.transport.appsync_auth import AppSyncJWTAuthentication
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport
from gql.transport.exceptions import TransportError
from websockets.exceptions import WebSocketException

from tessera.api.transport import compute_pause
from wsi.records.notices import GRAPHQL_NAMES, JobUpdate
from wsi.states import JobState

log = logging.getLogger(__name__)
# It writes each message at level INFO, and the first one holds the credential.
logging.getLogger("gql.transport").setLevel(logging.WARNING)

KEEP_ALIVE_SECONDS = 150.0  #: silence after which the connection is given up; the server's `ka` comes every 60 s
CANCEL_SECONDS = 1.0  #: between two cancellations of a subscription that does not hear them

SUBSCRIPTION = (
    f"subscription Watch($jobId: ID) {{ onJobUpdate(jobId: $jobId) {{ {' '.join(GRAPHQL_NAMES.values())} }} }}"
)


def read_update(pushed: dict[str, Any]) -> JobUpdate:
    """Return a `JobUpdate` from the GraphQL type of that name."""
    values: dict[str, Any] = {name: pushed[camel] for name, camel in GRAPHQL_NAMES.items()}
    return JobUpdate(**values)


def merge(known: JobUpdate | None, update: JobUpdate) -> JobUpdate:
    """Return the newer of two views of one job. Any order, repetition or loss of updates ends at the newest one
    seen."""
    if known is None or (update.version, update.progress_seq) > (known.version, known.progress_seq):
        return update
    return known


def is_final(update: JobUpdate) -> bool:
    return JobState(update.status).is_final


@dataclass(frozen=True, kw_only=True, slots=True)
class Realtime:
    """The URL and the credential of a subscription."""

    url: str  #: ws(s)://…; of the real service wss://<id>.appsync-realtime-api.<region>.amazonaws.com/graphql
    credential: str  #: API key or token


@dataclass(frozen=True, kw_only=True, slots=True)
class PollingPace:
    """The intervals at which the API is polled."""

    poll: float = 2.0  #: seconds between reads while nothing is pushed
    reread: float = 30.0  #: seconds between reads while the subscription stands
    settle: float = 3.0  #: seconds after `start_ack` until events are no longer lost


class _Authorization(AppSyncJWTAuthentication):
    """The Authorization mode for any credential. gql leaves the "+" of base64 in the query, where it means a space."""

    def get_auth_url(self, url: str) -> str:
        header = base64.b64encode(json.dumps(self.get_headers(), separators=(",", ":")).encode()).decode()
        return f"{url}?header={quote(header, safe='')}&payload=e30="


class _Transport(AppSyncWebsocketsTransport):
    """gql's transport, which drops `start_ack`; here it is reported to `started`."""

    def __init__(self, realtime: Realtime, started: Callable[[], None]) -> None:
        self._started = started
        # AppSync speaks at one host and has callers sign in for the other.
        host = urlsplit(realtime.url).netloc.replace(".appsync-realtime-api.", ".appsync-api.")
        super().__init__(
            realtime.url,
            auth=_Authorization(host=host, jwt=realtime.credential),
            ssl=realtime.url.startswith("wss://"),
            keep_alive_timeout=KEEP_ALIVE_SECONDS,
        )

    def _parse_answer(self, answer: str) -> Any:
        parsed = super()._parse_answer(answer)
        if parsed[0] == "start_ack":
            self._started()
        return parsed


class _JobFollower:
    def __init__(
        self, job_id: str, read: Callable[[], JobUpdate], on_update: Callable[[JobUpdate], None], pace: PollingPace
    ) -> None:
        self._pace = pace
        self._job_id = job_id
        self._read = read
        self._on_update = on_update
        self._known: JobUpdate | None = None
        self._read_now = asyncio.Event()
        self._connected = False
        self._at_rest = asyncio.Event()  #: no connection is being made
        self._at_rest.set()

    def _take(self, update: JobUpdate) -> None:
        merged = merge(self._known, update)
        if merged is not self._known:
            self._known = merged
            self._on_update(merged)

    async def read_until_final(self) -> JobUpdate:
        while True:
            self._read_now.clear()
            self._take(await asyncio.to_thread(self._read))
            assert self._known is not None
            if is_final(self._known):
                return self._known
            try:
                seconds = self._pace.reread if self._connected else self._pace.poll
                await asyncio.wait_for(self._read_now.wait(), seconds)
            except TimeoutError:
                continue

    def _on_start_ack(self) -> None:
        self._connected = True
        self._read_now.set()
        asyncio.get_running_loop().call_later(self._pace.settle, self._read_now.set)

    async def listen(self, realtime: Realtime) -> None:
        """Subscribe again and again for as long as the job is watched. While that fails, the API is read at its own
        pace."""
        attempt = 0
        while True:
            self._at_rest.clear()
            try:
                async with Client(transport=_Transport(realtime, self._on_start_ack)) as session:
                    self._at_rest.set()
                    query = GraphQLRequest(SUBSCRIPTION, variable_values={"jobId": self._job_id})
                    async for data in session.subscribe(query):
                        attempt = 0
                        self._on_push(data["onJobUpdate"])
            except (TransportError, WebSocketException, OSError, TimeoutError) as error:
                log.info("subscription lost: %s", type(error).__name__)
            self._at_rest.set()
            self._connected = False
            self._read_now.set()
            await asyncio.sleep(compute_pause(attempt))
            attempt = min(attempt + 1, 10)

    async def rest(self, seconds: float) -> None:
        """Wait until no connection is being made, for `seconds` at most: in Python 3.11 a connection that is cancelled
        just as it is established is neither returned nor closed (python/cpython#86296)."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._at_rest.wait(), seconds)

    def _on_push(self, value: dict[str, Any] | None) -> None:
        if value is None or value["jobId"] != self._job_id:
            return
        update = read_update(value)
        self._take(update)
        if is_final(update):  # the last word is the API's
            self._read_now.set()


async def end(listening: asyncio.Task[None]) -> None:
    """Cancel a subscription again and again until it ends: in Python 3.11 `wait_for`, which gql connects with, loses a
    cancellation that comes together with its own result (python/cpython#86296)."""
    while not listening.done():
        listening.cancel()
        await asyncio.wait((listening,), timeout=CANCEL_SECONDS)
    if not listening.cancelled() and (error := listening.exception()):
        log.warning("the subscription ended early, reading went on: %s", type(error).__name__)


async def watch(
    job_id: str,
    *,
    read: Callable[[], JobUpdate],
    realtime: Realtime | None,
    on_update: Callable[[JobUpdate], None],
    pace: PollingPace | None = None,
) -> JobUpdate:
    """Watch a job, and return its final update. `read` asks the API (blocking; called in a thread); `on_update` is
    called for each newer view. Raises what `read` raises."""
    watched = _JobFollower(job_id, read, on_update, pace or PollingPace())
    listening = asyncio.create_task(watched.listen(realtime)) if realtime else None
    try:
        return await watched.read_until_final()
    finally:
        if listening is not None:
            await watched.rest(CANCEL_SECONDS)
            await end(listening)
