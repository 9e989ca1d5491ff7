"""The boto3 clients of one process: one a service, made at first use, shared by all threads."""

from __future__ import annotations

import threading
from typing import Any

import boto3
from botocore.config import Config
from botocore.credentials import Credentials, ReadOnlyCredentials


class AwsClients:
    """The clients of one region. `endpoint_url` None is AWS; else an emulator's address, which answers all services.

    Credentials come the SDK's usual way. Clients are safe to share between threads, making one is not, hence the lock.
    """

    def __init__(self, region: str, endpoint_url: str | None = None) -> None:
        self.region = region
        self.endpoint_url = endpoint_url
        self._session = boto3.Session(region_name=region)
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()

    @property
    def s3(self) -> Any:
        return self.get_client("s3")

    @property
    def sqs(self) -> Any:
        return self.get_client("sqs")

    @property
    def cognito(self) -> Any:
        return self.get_client("cognito-idp")

    def get_credentials(self) -> Credentials:
        """Return the chain's credentials, refreshed by botocore when they expire. Raises RuntimeError without any."""
        with self._lock:
            found = self._session.get_credentials()
        if found is None:
            raise RuntimeError("No AWS credentials were found in the environment of this process.")
        return found

    def get_client(self, service: str) -> Any:
        """Return the client of a service without a property here: one that only a deployment talks to."""
        with self._lock:
            if service not in self._made:
                self._made[service] = self._make(service)
            return self._made[service]

    def make_client(self, service: str, credentials: ReadOnlyCredentials) -> Any:
        """Return a new client that signs with these credentials, not with those of the process."""
        with self._lock:
            return self._make(
                service,
                aws_access_key_id=credentials.access_key,
                aws_secret_access_key=credentials.secret_key,
                aws_session_token=credentials.token,
            )

    def _make(self, service: str, **signing: str | None) -> Any:
        session: Any = self._session
        return session.client(service, endpoint_url=self.endpoint_url, config=self._config(service), **signing)

    def _config(self, service: str) -> Config:
        # An emulator has no DNS name for each bucket.
        addressing = "path" if self.endpoint_url else "virtual"
        # Traces are sent while a process wants to end; a lost one matters less than the wait.
        is_patient = service != "xray"
        return Config(
            # boto3 still presigns with SigV2 in us-east-1 by default (F-39).
            signature_version="s3v4" if service == "s3" else None,
            # In us-east-1 botocore would use the global host, which the page's content security policy does not allow.
            s3={"addressing_style": addressing, "us_east_1_regional_endpoint": "regional"},
            retries={"mode": "adaptive", "total_max_attempts": 6 if is_patient else 2},
            connect_timeout=5,
            # Above the longest SQS poll of 20 s, and time for a slow 16 MiB part.
            read_timeout=65 if is_patient else 5,
            max_pool_connections=32,
            # By default botocore adds a CRC32 to every put, and to presigned part URLs too, which sign SHA-256 instead.
            request_checksum_calculation="when_required",
        )
