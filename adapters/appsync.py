"""`wsi.ports.push.Publisher` on AppSync: two mutations, signed with this process's credentials."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from botocore.exceptions import BotoCoreError, HTTPClientError
from botocore.httpsession import URLLib3Session

from adapters.aws_clients import AwsClients
from adapters.sigv4 import sign_post
from wsi.errors import SourceUnavailable
from wsi.notices.sending import SENDS_AT_ONCE
from wsi.records.notices import GRAPHQL_NAMES, JobUpdate, Revocation

SERVICE = "appsync"
TIMEOUT = 5  #: s; a push is a hint, and one that hangs delays those that the relay claims next

#: Subscribers see only what the mutation selects, and the filter only matches what it selects: so all fields.
TYPES = {
    "jobId": "ID!",
    "tenant": "ID!",
    "slideId": "ID!",
    "status": "String!",
    "version": "Int!",
    "progressSeq": "Int!",
    "progress": "Float!",
    "tilesPlanned": "Int!",
    "tilesInferred": "Int!",
    "tilesUnreadable": "Int!",
    "tilesPerSecond": "Float",
    "etaSeconds": "Float",
    "reason": "String",
}
MUTATION = "mutation Publish({declared}) {{ publishJobUpdate({passed}) {{ {selected} }} }}".format(
    declared=", ".join(f"${name}: {kind}" for name, kind in TYPES.items()),
    passed=", ".join(f"{name}: ${name}" for name in TYPES),
    selected=" ".join(TYPES),
)
END = "mutation End($tenant: ID!, $subject: ID!) { endSubscriptions(tenant: $tenant, subject: $subject) { subject } }"


class AppSyncPublisher:
    """A publisher on one AppSync API. `url` is the GraphQL endpoint. Safe to share between threads."""

    def __init__(self, clients: AwsClients, url: str) -> None:
        self._clients = clients
        self._url = url
        self._http = URLLib3Session(
            timeout=TIMEOUT,
            # Of connections beyond these, each push would open its own, with a TLS handshake.
            max_pool_connections=SENDS_AT_ONCE,
            # A session has no options of its own. Header and body are two writes: with Nagle's algorithm the body waits
            # until the server acknowledges the header, 40 ms on Linux.
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )

    def publish(self, update: JobUpdate) -> None:
        """Publish the update. Raises SourceUnavailable if AppSync did not accept it; the caller should try again."""
        self._mutate(MUTATION, make_variables(update))

    def end_subscriptions(self, revocation: Revocation) -> None:
        """End subscriptions: the resolver of `onJobUpdate` has stated whom each belongs to, and AppSync compares."""
        self._mutate(END, asdict(revocation))

    def _mutate(self, mutation: str, variables: Mapping[str, Any]) -> None:
        body = json.dumps({"query": mutation, "variables": variables}).encode()
        frozen = self._clients.get_credentials().get_frozen_credentials()
        request = sign_post(self._url, body, frozen, region=self._clients.region, service=SERVICE)
        try:
            answer = self._http.send(request)
        except (HTTPClientError, BotoCoreError) as error:
            raise SourceUnavailable("The push service did not answer; it is asked again.") from error
        if answer.status_code != 200 or json.loads(answer.content).get("errors"):
            raise SourceUnavailable(f"The push service refused with status {answer.status_code}; it is asked again.")


def make_variables(update: JobUpdate) -> Mapping[str, Any]:
    """Return the update under the schema's names."""
    return {GRAPHQL_NAMES[name]: value for name, value in update.as_json().items()}
