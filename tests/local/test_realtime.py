"""The protocol, message by message, as AWS describes it."""

from __future__ import annotations

import asyncio
import base64
import json

import aiohttp
import pytest

from adapters.appsync import AppSyncPublisher
from adapters.aws_clients import AwsClients
from tests.local.appsync_server import job_update
from tests.ministack import REGION
from wsi.records.notices import EVERYBODY, Revocation

QUERY = "subscription { onJobUpdate { jobId } }"


def encoded(token, *, url_safe=False):
    header = json.dumps({"host": "localhost", "Authorization": token}).encode()
    return base64.urlsafe_b64encode(header).decode().rstrip("=") if url_safe else base64.b64encode(header).decode()


def start(subscription_id="1", query=QUERY, token="tsk_ours_1"):
    data = json.dumps({"query": query, "variables": {}})
    authorization = {"host": "localhost", "Authorization": token}
    return {
        "id": subscription_id,
        "type": "start",
        "payload": {"data": data, "extensions": {"authorization": authorization}},
    }


def talk(server, *said, token="tsk_ours_1", then=None, answers):
    """Says each message in turn and returns the first `answers` messages of the server; `then` runs before the last."""

    async def run():
        url = f"{server.url.replace('http', 'ws')}/graphql/realtime?header={encoded(token)}&payload=e30="
        async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=("graphql-ws",)) as socket:
            for message in said:
                await socket.send_json(message)
            heard = []
            while len(heard) < answers:
                if then and len(heard) == answers - 1:
                    await asyncio.to_thread(then)
                heard.append(await socket.receive_json(timeout=5))
            return heard

    return asyncio.run(run())


def start_with(**payload):
    return {**start("bad"), "payload": {**start()["payload"], **payload}}


INIT = {"type": "connection_init"}
ACK = {"type": "connection_ack", "payload": {"connectionTimeoutMs": 300000}}


def test_a_subscription_from_handshake_to_stop(appsync):
    publish = lambda: AppSyncPublisher(AwsClients(REGION), f"{appsync.url}/graphql").publish(job_update())  # noqa: E731
    heard = talk(appsync, INIT, start(), then=publish, answers=4)
    data = {"id": "1", "type": "data", "payload": {"data": {"onJobUpdate": {"jobId": "job-1"}}}}
    assert heard == [ACK, {"type": "ka"}, {"type": "start_ack", "id": "1"}, data]
    stopped = talk(appsync, INIT, start("7"), {"type": "stop", "id": "7"}, answers=4)
    assert stopped[-1] == {"type": "complete", "id": "7"}


def test_a_stopped_subscription_hears_nothing_more(appsync):
    def publish():
        AppSyncPublisher(AwsClients(REGION), f"{appsync.url}/graphql").publish(job_update())

    said = (INIT, start("1"), start("2"), {"type": "stop", "id": "1"})
    *_, heard = talk(appsync, *said, then=publish, answers=6)  # had both heard it, the first would have come first
    assert (heard["type"], heard["id"]) == ("data", "2")


def test_the_handshake_reads_the_subprotocol_as_well(appsync):
    async def run():
        url = f"{appsync.url.replace('http', 'ws')}/graphql/realtime"
        protocols = ("graphql-ws", f"header-{encoded('tsk_ours_1', url_safe=True)}")
        async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=protocols) as socket:
            assert socket.protocol == "graphql-ws"
            await socket.send_json(INIT)
            return await socket.receive_json(timeout=5)

    assert asyncio.run(run()) == ACK


@pytest.mark.parametrize("token", ["", "tsk_unknown_9"])
def test_an_unknown_caller_is_told_so_and_disconnected(appsync, token):
    (refusal,) = talk(appsync, INIT, token=token, answers=1)
    assert refusal["type"] == "connection_error"
    assert refusal["payload"]["errors"][0]["errorType"] == "UnauthorizedException"
    assert refusal["payload"]["errors"][0]["errorCode"] == 401


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (start(token="tsk_unknown_9"), "UnauthorizedException"),
        (start(token="tsk_none_3"), "Unauthorized"),
        (start(query="subscription { onJobUpdate { patient } }"), "ValidationError"),
        (start(query="{ readFromRest }"), "BadRequestException"),
        (start(query="mutation { publishJobUpdate { jobId } }"), "ValidationError"),
        ({"type": "dance", "id": "1"}, "UnsupportedOperation"),
    ],
    ids=["caller", "tenant", "field", "query", "mutation", "message"],
)
def test_a_refused_start_says_why(appsync, message, kind):
    *_, refusal = talk(appsync, INIT, message, answers=3)
    assert refusal["type"] == "error"
    assert refusal["id"] == "1"
    assert refusal["payload"]["errors"][0]["errorType"] == kind


def test_a_start_before_the_handshake_is_refused(appsync):
    (refusal,) = talk(appsync, start(), answers=1)
    assert refusal["payload"]["errors"][0]["errorType"] == "BadRequestException"


def test_a_connection_has_at_most_a_hundred_subscriptions(appsync):
    *_, last = talk(appsync, INIT, *(start(str(n)) for n in range(101)), answers=103)
    assert last["payload"]["errors"][0]["errorType"] == "MaxSubscriptionsReachedError"


@pytest.mark.parametrize(
    "said",
    [
        [],
        "text",
        None,
        {"type": "start"},
        {"type": "start", "id": 1, "payload": {}},
        {"type": "stop"},
        {"type": "start", "id": "bad"},
        start_with(data="{"),
        start_with(data="[]"),
        start_with(data="[" * 50_000),
        start_with(data=json.dumps({"query": QUERY, "variables": 1})),
        start_with(extensions=[]),
        start_with(extensions={"authorization": 1}),
    ],
    ids=str,
)
def test_a_malformed_message_is_answered_and_the_others_go_on(appsync, said):
    _, _, refused, acknowledged = talk(appsync, INIT, said, start("good"), answers=4)
    assert (refused["type"], acknowledged) == ("error", {"type": "start_ack", "id": "good"})


def test_a_variable_that_is_declared_and_left_out_is_no_argument(appsync):
    query = "subscription($jobId: ID) { onJobUpdate(jobId: $jobId) { jobId } }"
    publish = lambda: AppSyncPublisher(AwsClients(REGION), f"{appsync.url}/graphql").publish(job_update())  # noqa: E731
    heard = talk(appsync, INIT, start(query=query), then=publish, answers=4)
    assert [message["type"] for message in heard] == ["connection_ack", "ka", "start_ack", "data"]


def revoke(server, subject, tenant="tenant-a"):
    publisher = AppSyncPublisher(AwsClients(REGION), f"{server.url}/graphql")
    publisher.end_subscriptions(Revocation(tenant=tenant, subject=subject))


def open_and_revoke(server, revocations):
    """What two clients of one tenant and one of another read, from the first revocation to an update of each tenant, or
    to the end of their connections."""

    async def read(socket, answers):
        heard = []
        while len(heard) < answers:
            message = await socket.receive(timeout=5)
            heard.append(json.loads(message.data) if message.type is aiohttp.WSMsgType.TEXT else message.type)
            if heard[-1] in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
                break
        return heard

    async def run():
        async with aiohttp.ClientSession() as session:
            sockets = []
            for token in ("tsk_ours_1", "tsk_ours_4", "tsk_theirs_2"):
                url = f"{server.url.replace('http', 'ws')}/graphql/realtime?header={encoded(token)}&payload=e30="
                sockets.append(await session.ws_connect(url, protocols=("graphql-ws",)))
                for message in (INIT, start("1", token=token), start("2", token=token)):
                    await sockets[-1].send_json(message)
                await read(sockets[-1], 4)
            publisher = AppSyncPublisher(AwsClients(REGION), f"{server.url}/graphql")
            for revocation in revocations:
                await asyncio.to_thread(revoke, server, *revocation)
            for tenant in ("tenant-a", "tenant-b"):
                await asyncio.to_thread(publisher.publish, job_update(tenant))
            return [await read(socket, 2) for socket in sockets]

    return asyncio.run(run())


def kinds(heard):
    return [message["type"] if isinstance(message, dict) else message.name for message in heard]


def test_a_revocation_ends_the_subscriptions_of_its_subject_alone(appsync):
    first, second, other = open_and_revoke(appsync, [("key:tsk_ours_1",)])
    assert [(message["type"], message["id"]) for message in first] == [("complete", "1"), ("complete", "2")]
    assert kinds(second) == kinds(other) == ["data", "data"]


def test_a_revoked_subject_hears_nothing_more_and_its_connection_is_closed(appsync):
    async def run():
        url = f"{appsync.url.replace('http', 'ws')}/graphql/realtime?header={encoded('tsk_ours_1')}&payload=e30="
        async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=("graphql-ws",)) as socket:
            await socket.send_json(INIT)
            await socket.send_json(start())
            for _ in range(3):
                await socket.receive_json(timeout=5)
            await asyncio.to_thread(revoke, appsync, "key:tsk_ours_1")
            publisher = AppSyncPublisher(AwsClients(REGION), f"{appsync.url}/graphql")
            await asyncio.to_thread(publisher.publish, job_update())
            return [(await socket.receive(timeout=5)) for _ in range(2)]

    ended, closed = asyncio.run(run())
    assert json.loads(ended.data) == {"id": "1", "type": "complete"}
    assert closed.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)


def test_a_revocation_of_everybody_ends_one_tenants_subscriptions(appsync):
    *ours, other = open_and_revoke(appsync, [(EVERYBODY,)])
    assert [kinds(heard) for heard in ours] == [["complete", "complete"]] * 2
    assert kinds(other) == ["data", "data"]


def test_a_revocation_in_another_tenant_ends_nothing(appsync):
    heard = open_and_revoke(appsync, [("key:tsk_ours_1", "tenant-b"), ("key:nobody", "tenant-a")])
    assert [kinds(one) for one in heard] == [["data", "data"]] * 3
