"""Watching a job over a real websocket that speaks the AppSync realtime protocol, and without one."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from websockets.asyncio.server import ServerConnection, serve

from tessera.api.watch import PollingPace, Realtime, end, watch
from tests.tessera.api.test_watch_merge import update
from wsi.errors import SourceUnavailable
from wsi.records.notices import JobUpdate

PATIENT = PollingPace(poll=60.0, reread=60.0, settle=60.0)  #: so that only a push or a reconnection makes it read
QUICK = PollingPace(poll=0.02, reread=0.02, settle=0.02)
CREDENTIAL = "tsk_a_~~~>>>???"  #: its base64 has a "+"
DROP = "drop"
DONE = replace(update(9, 0), status="COMPLETED")

Push = Callable[[JobUpdate], Awaitable[None]]


class RealtimeServer:
    """One connection after the other: each has its own `after_start`, which is told how to push. When that returns
    DROP the connection is dropped, else it stays until the client leaves."""

    def __init__(self, *after_start: Callable[[Push], Awaitable[str | None]]) -> None:
        self.after_start = list(after_start)
        self.headers: list[dict[str, Any]] = []

    async def __call__(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        query = parse_qs(urlsplit(connection.request.path).query)
        self.headers.append(json.loads(base64.b64decode(query["header"][0])))
        assert json.loads(await connection.recv())["type"] == "connection_init"
        await connection.send(json.dumps({"type": "connection_ack", "payload": {"connectionTimeoutMs": 300_000}}))
        await connection.send(json.dumps({"type": "ka"}))
        start = json.loads(await connection.recv())
        assert start["payload"]["extensions"]["authorization"]["Authorization"] == CREDENTIAL
        assert json.loads(start["payload"]["data"])["variables"] == {"jobId": "j"}
        await connection.send(json.dumps({"type": "start_ack", "id": start["id"]}))

        async def push(pushed: JobUpdate) -> None:
            data = {"onJobUpdate": camel(pushed.as_json())}
            await connection.send(json.dumps({"type": "data", "id": start["id"], "payload": {"data": data}}))

        if await self.after_start.pop(0)(push) != DROP:
            await connection.wait_closed()


def camel(value: dict[str, Any]) -> dict[str, Any]:
    def name(snake: str) -> str:
        head, *rest = snake.split("_")
        return head + "".join(word.title() for word in rest)

    return {name(key): item for key, item in value.items()}


class Job:
    """What the API says of the job: the last of what happened."""

    def __init__(self) -> None:
        self.truth = update(1, 0)
        self.reads = 0

    def read(self) -> JobUpdate:
        self.reads += 1
        return self.truth


def watched(job: Job, server: RealtimeServer, pace: PollingPace) -> tuple[JobUpdate, list[JobUpdate]]:
    async def run() -> tuple[JobUpdate, list[JobUpdate]]:
        seen: list[JobUpdate] = []
        async with serve(server, "127.0.0.1", 0, subprotocols=["graphql-ws"]) as listening:  # type: ignore[list-item]
            port = listening.sockets[0].getsockname()[1]
            realtime = Realtime(url=f"ws://127.0.0.1:{port}/graphql/realtime", credential=CREDENTIAL)
            async with asyncio.timeout(20):
                last = await watch("j", read=job.read, realtime=realtime, on_update=seen.append, pace=pace)
        return last, seen

    return asyncio.run(run())


def test_pushes_are_shown_and_the_last_word_is_the_apis() -> None:
    job = Job()

    async def after_start(push: Push) -> None:
        await push(update(2, 1))
        await push(update(2, 0))  # late
        await push(replace(update(9, 9), job_id="another"))
        job.truth = DONE
        await push(replace(DONE, tiles_inferred=-1, version=8))

    last, seen = watched(job, RealtimeServer(after_start), PATIENT)
    assert last == DONE
    assert [(each.version, each.progress_seq) for each in seen] == [(1, 0), (2, 1), (8, 0), (9, 0)]


def test_what_happened_before_the_subscription_stood_is_read_on_start_ack() -> None:
    job = Job()

    class Late(RealtimeServer):
        async def __call__(self, connection: ServerConnection) -> None:
            job.truth = DONE  # after the first read, before the subscription
            await super().__call__(connection)

    async def silence(push: Push) -> None:
        pass

    last, _ = watched(job, Late(silence), PATIENT)
    assert last == DONE


def test_an_event_that_is_lost_after_start_ack_is_read_soon() -> None:
    job = Job()

    async def lose(push: Push) -> None:
        await asyncio.sleep(0.1)  # the read on start_ack is over
        job.truth = DONE

    pace = PollingPace(poll=60.0, reread=60.0, settle=0.3)
    last, _ = watched(job, RealtimeServer(lose), pace)
    assert last == DONE


def test_after_a_lost_connection_it_subscribes_and_reads_again() -> None:
    job = Job()

    async def drop(push: Push) -> str:
        await push(update(2, 0))
        return DROP

    async def silence(push: Push) -> None:
        job.truth = DONE
        await asyncio.sleep(0.2)
        await push(DONE)

    server = RealtimeServer(drop, silence)
    last, seen = watched(job, server, PATIENT)
    assert last == DONE
    assert update(2, 0) in seen
    assert [header["Authorization"] for header in server.headers] == [CREDENTIAL] * 2


@pytest.mark.parametrize("realtime", [None, Realtime(url="ws://127.0.0.1:9/graphql/realtime", credential="x")])
def test_without_a_websocket_it_polls(realtime: Realtime | None) -> None:
    job = Job()

    def read() -> JobUpdate:
        found = job.read()
        if job.reads == 3:
            job.truth = DONE
        return found

    assert asyncio.run(watch("j", read=read, realtime=realtime, on_update=lambda each: None, pace=QUICK)) == DONE
    assert job.reads == 4


def test_a_subscription_that_does_not_hear_its_cancellation_is_cancelled_again() -> None:
    """As gql's does when a connection is refused at that very moment, in Python 3.11."""

    async def deaf_once() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def run() -> bool:
        listening = asyncio.create_task(deaf_once())
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await end(listening)
        return listening.cancelled()

    assert asyncio.run(run())


def test_a_watch_that_ends_while_it_connects_lets_the_connection_stand_before_it_leaves() -> None:
    """Cancelled just as it stands, it would be left open."""
    closed = asyncio.Event()

    async def slowly(connection: ServerConnection, _: object) -> None:
        await asyncio.sleep(0.3)

    async def stay(connection: ServerConnection) -> None:
        try:
            async for message in connection:
                if json.loads(message)["type"] == "connection_init":
                    await connection.send(json.dumps({"type": "connection_ack", "payload": {}}))
        finally:
            if connection.close_code == 1000:  # the client said that it leaves
                closed.set()

    async def both() -> None:
        async with serve(stay, "127.0.0.1", 0, subprotocols=["graphql-ws"], process_request=slowly) as server:  # pyright: ignore[reportArgumentType]
            port = server.sockets[0].getsockname()[1]
            realtime = Realtime(url=f"ws://127.0.0.1:{port}/graphql/realtime", credential=CREDENTIAL)
            assert await watch("j", read=lambda: DONE, realtime=realtime, on_update=lambda _: None) == DONE
            await asyncio.wait_for(closed.wait(), 5)

    asyncio.run(both())


def test_an_api_that_does_not_answer_ends_the_watch_with_its_error() -> None:
    def read() -> JobUpdate:
        raise SourceUnavailable("The server cannot be reached.")

    with pytest.raises(SourceUnavailable):
        asyncio.run(watch("j", read=read, realtime=None, on_update=lambda each: None))
