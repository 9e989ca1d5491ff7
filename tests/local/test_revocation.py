"""A revocation from the owner's hand to the subscriber, by real SQL, relay, authorizer and resolvers."""

from __future__ import annotations

import asyncio
import json
from functools import partial

import aiohttp
import pytest
from botocore.credentials import ReadOnlyCredentials

from adapters.appsync import SERVICE, AppSyncPublisher
from adapters.aws_clients import AwsClients
from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner.administration import Administration
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.sigv4 import find_refusal
from lambdas.administer import make_handler as make_administer
from lambdas.administer import make_waking
from lambdas.authorizer import AuthorizerWiring
from lambdas.authorizer import make_handler as make_authorizer
from lambdas.relay import make_handler as make_relay
from local.appsync.callers import Doorkeeper
from local.appsync.server import make_appsync_app
from local.gateway.http_server import HttpServer
from local.lambda_context import LambdaContext
from local.postgres import OWNER
from tests.fakes.queues import MemoryQueues
from tests.installation import Clock
from tests.local.test_realtime import INIT, encoded, start
from tests.ministack import REGION
from tests.prerequisites import NODE

CREDENTIALS = ReadOnlyCredentials("test", "test", None, None)
TO_ANSWER = 5.0  #: s


class Installation:
    """One tenant with two keys. Each wake-up that an operator's action sends runs the relay."""

    def __init__(self, database):
        self.queues = MemoryQueues(Clock())
        self.api, self.system = Connections(database.api_dsn), Connections(database.system_dsn)
        authorizer = make_authorizer(
            AuthorizerWiring(
                identities=PostgresIdentities(self.api), issuer="none", client_id="none", jwks_url="http://127.0.0.1:9"
            )
        )
        doorkeeper = Doorkeeper(
            authorizer=authorizer,
            signature_refusal=lambda method, url, headers, body, now: find_refusal(
                method, url, headers, body, CREDENTIALS, region=REGION, service=SERVICE, now=now
            ),
            lambda_context=partial(LambdaContext, "authorizer"),
        )
        self.server = HttpServer("appsync", lambda: make_appsync_app(doorkeeper))
        self.server.start()
        owner = Administration(lambda: database.server.make_dsn(OWNER, database.name))
        self._administer = make_waking(make_administer(owner), self.queues)
        self._relay = make_relay(
            ledger=PostgresSystemLedger(self.system),
            queues=self.queues,
            publisher=AppSyncPublisher(AwsClients(REGION), f"{self.server.url}/graphql"),
            shards_in_flight=12,
        )

    def administer(self, **action):
        answer = self._administer(action, None)
        if self.queues.receive("wake", limit=10, wait_seconds=0, visibility_seconds=30):
            self._relay({}, LambdaContext("relay"))
        return answer

    def stop(self):
        self.server.stop()
        self.api.close()
        self.system.close()


@pytest.fixture
def installation(database, credentials):
    NODE.require()
    made = Installation(database)
    yield made
    made.stop()


async def subscribe(session, server, key):
    url = f"{server.url.replace('http', 'ws')}/graphql/realtime?header={encoded(key)}&payload=e30="
    socket = await session.ws_connect(url, protocols=("graphql-ws",))
    await socket.send_json(INIT)
    await socket.send_json(start(token=key))
    said = []
    while not said or said[-1]["type"] not in ("start_ack", "connection_error", "error"):
        said.append(await socket.receive_json(timeout=TO_ANSWER))
    return socket, said[-1]["type"]


def test_a_revoked_key_hears_the_end_within_seconds_and_comes_back_no_more(installation):
    installation.administer(add_tenant={"name": "hospital"})
    keys = [
        installation.administer(add_key={"tenant": "hospital", "name": name, "role": "viewer"})["key"]
        for name in ("scanner", "ward")
    ]

    async def run():
        async with aiohttp.ClientSession() as session:
            (scanner, first), (ward, second) = [await subscribe(session, installation.server, key) for key in keys]
            assert (first, second) == ("start_ack", "start_ack")
            revoke = partial(installation.administer, revoke_key={"tenant": "hospital", "name": "scanner"})
            assert await asyncio.to_thread(revoke) == {"revoked": 1}
            ended = await scanner.receive(timeout=TO_ANSWER)
            assert json.loads(ended.data) == {"id": "1", "type": "complete"}
            assert (await scanner.receive(timeout=TO_ANSWER)).type in (
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSED,
            )
            _, again = await subscribe(session, installation.server, keys[0])
            assert again == "connection_error"
            await ward.send_json({"type": "stop", "id": "1"})
            answer = await ward.receive_json(timeout=TO_ANSWER)
            assert answer == {"type": "complete", "id": "1"}, "the other key's connection still stands"

    asyncio.run(run())
