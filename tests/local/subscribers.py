"""Subscribers by gql's AppSync transport."""

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
HEARING = 0.5  #: s to wait before saying that nothing came


def transport(url, token):
    address = urlsplit(url).netloc
    auth = AppSyncJWTAuthentication(host=address, jwt=token)
    return AppSyncWebsocketsTransport(url=f"ws://{address}/graphql/realtime", auth=auth)


def hear(url, subscribers, updates):
    """What each subscriber (token, query) of the AppSync API at `url` hears of `updates`, published once all listen."""

    async def listen(token, query, heard):
        async with Client(transport=transport(url, token)) as session:
            async for data in session.subscribe(query):
                heard.append(data)

    async def run():
        heard = [[] for _ in subscribers]
        listening = [
            asyncio.create_task(listen(*subscriber, into)) for subscriber, into in zip(subscribers, heard, strict=True)
        ]
        await asyncio.sleep(HEARING)
        publisher = AppSyncPublisher(AwsClients(REGION), f"{url}/graphql")
        for update in updates:
            await asyncio.to_thread(publisher.publish, update)
        await asyncio.sleep(HEARING)
        for task in listening:
            task.cancel()
        ended = await asyncio.gather(*listening, return_exceptions=True)
        for failure in ended:
            if isinstance(failure, Exception):
                raise failure
        return heard

    return asyncio.run(run())
