"""Sessions that read one source of one tenant, and nothing else.

On AWS no process may read customers' buckets by its own role. It assumes the role for sources with a policy of the
session, of which S3 allows the intersection: the objects of this source, within the buckets of the deployment. So an
address that our code mistakes is refused by S3 as well (docs/decisions/0126). An emulator has no such role: there the
process's own credentials read.
"""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from botocore.credentials import Credentials, ReadOnlyCredentials

from adapters.aws_clients import AwsClients
from wsi.sources.source import Source

SESSION_SECONDS = 3600  #: the most that AWS gives to a role that assumes another one
#: A session is replaced this long before it ends: range reads ask for credentials every five minutes.
LEAST_SECONDS = 600


class Signer(Protocol):
    """The signer of requests to S3: the process itself, or a session."""

    @property
    def s3(self) -> Any: ...

    def get_credentials(self) -> Credentials | ReadOnlyCredentials: ...


class SourceSession:
    """The sessions, one after another, that read one source for one tenant. Thread-safe."""

    def __init__(self, clients: AwsClients, role: str, tenant: UUID, source: Source) -> None:
        self._clients = clients
        self._asked = {
            "RoleArn": role,
            # CloudTrail shows it to the bucket's owner too.
            "RoleSessionName": f"tenant-{tenant}",
            "Policy": make_policy(source, partition=role.split(":")[1]),
            "DurationSeconds": SESSION_SECONDS,
        }
        self._lock = threading.Lock()
        self._held: tuple[ReadOnlyCredentials, datetime, Any] | None = None

    @property
    def s3(self) -> Any:
        return self._renew()[2]

    def get_credentials(self) -> ReadOnlyCredentials:
        return self._renew()[0]

    def _renew(self) -> tuple[ReadOnlyCredentials, datetime, Any]:
        """Return credentials, their end and a client that signs with them; others if they end soon."""
        with self._lock:
            if self._held is None or self._held[1] - datetime.now(UTC) < timedelta(seconds=LEAST_SECONDS):
                made = self._clients.get_client("sts").assume_role(**self._asked)["Credentials"]
                credentials = ReadOnlyCredentials(
                    made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"], None
                )
                self._held = (credentials, made["Expiration"], self._clients.make_client("s3", credentials))
            return self._held


class SourceSessions:
    """The sessions of a process by tenant and source. `role` None: its own credentials. Thread-safe."""

    def __init__(self, clients: AwsClients, role: str | None) -> None:
        self._clients = clients
        self._role = role
        self._sessions: dict[tuple[UUID, Source], SourceSession] = {}
        self._lock = threading.Lock()

    def get_signer(self, tenant: UUID, source: Source) -> Signer:
        if self._role is None:
            return self._clients
        with self._lock:
            key = (tenant, source)
            if key not in self._sessions:
                self._sessions[key] = SourceSession(self._clients, self._role, tenant, source)
            return self._sessions[key]


def make_policy(source: Source, *, partition: str = "aws") -> str:
    """Return the policy of a session. A source has no character that means something in a policy."""
    statements = [
        {
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": f"arn:{partition}:s3:::{source.bucket}/{source.prefix}*",
        },
        # Which keys, the role says.
        {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": "*"},
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))
