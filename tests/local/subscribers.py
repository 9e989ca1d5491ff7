"""Subscribers by gql's AppSync transport.

A connection is answered in order, so what was published before the acknowledgement of a further subscription has
arrived with it: no test waits to say that nothing came.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from gql import Client, GraphQLRequest, gql
from gql.transport.appsync_auth import AppSyncJWTAuthentication
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport

from adapters.appsync import TYPES, AppSyncPublisher
from adapters.aws_clients import AwsClients
from tests.ministack import REGION

ALL = gql(f"subscription {{ onJobUpdate {{ {' '.join(TYPES)} }} }}")
ONE = GraphQLRequest(
    "subscription One($job: ID) { update: onJobUpdate(jobId: $job) { jobId tenant progressSeq } }",
    variable_values={"job": "job-1"},
)


class RecordingTransport(AppSyncWebsocketsTransport):
    """A transport that keeps what arrives, and counts the acknowledgements."""

    def __init__(self, url, token):
        address = urlsplit(url).netloc
        auth = AppSyncJWTAuthentication(host=address, jwt=token)
        super().__init__(url=f"ws://{address}/graphql/realtime", auth=auth)
        self.heard = []
        self.acknowledgements = asyncio.Semaphore(0)

    def _parse_answer(self, answer):
        kind, identifier, result = super()._parse_answer(answer)
        if kind == "data" and result is not None and not result.errors:
            self.heard.append(result.data)
        if kind == "start_ack":
            self.acknowledgements.release()
        return kind, identifier, result


class Subscriber:
    def __init__(self, url, token, query):
        self._transport = RecordingTransport(url, token)
        self._client = Client(transport=self._transport)
        self._query = query
        self._subscriptions = []

    async def begin(self):
        """Connect and subscribe. Raises what the server refuses either with."""
        self._session = await self._client.connect_async()
        await self._subscribe()

    async def list_heard(self):
        """Return all that was published so far and reached the subscription."""
        await self._subscribe()
        return list(self._transport.heard)

    async def end(self):
        for subscription in self._subscriptions:
            subscription.cancel()
        await asyncio.gather(*self._subscriptions, return_exceptions=True)
        await self._client.close_async()

    async def _subscribe(self):
        subscription = asyncio.create_task(self._consume())
        self._subscriptions.append(subscription)
        acknowledged = asyncio.create_task(self._transport.acknowledgements.acquire())
        await asyncio.wait({subscription, acknowledged}, return_when=asyncio.FIRST_COMPLETED)
        acknowledged.cancel()
        if subscription.done():
            await subscription

    async def _consume(self):
        async for _ in self._session.subscribe(self._query):
            pass


def hear(url, subscribers, updates):
    """What each subscriber (token, query) of the AppSync API at `url` hears of `updates`, published once all listen."""

    async def run():
        listening = [Subscriber(url, *subscriber) for subscriber in subscribers]
        try:
            for subscriber in listening:
                await subscriber.begin()
            publisher = AppSyncPublisher(AwsClients(REGION), f"{url}/graphql")
            for update in updates:
                await asyncio.to_thread(publisher.publish, update)
            return [await subscriber.list_heard() for subscriber in listening]
        finally:
            for subscriber in listening:
                await subscriber.end()

    return asyncio.run(run())
