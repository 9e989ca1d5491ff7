"""Range reads of one pinned object through obstore: bounded concurrency, retries with jitter, typed errors.

obstore spends 95-119 us of CPU a request against boto3's 1,515-1,740 (reference measurement of 1,000 ranges of 11 KB).
`get_range` has no If-Match, `get_async` with options has; a version is pinned by its ETag, since not every store
honours a range together with a version id.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import deque
from collections.abc import Coroutine, Generator, Iterator, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.exceptions import GenericError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import S3Store

from adapters.aws_clients import AwsClients
from wsi.errors import SourceChanged, SourceError, SourceMissing, SourceTruncated, SourceUnavailable
from wsi.ports.objects import StoredObject
from wsi.slide.ranges import ByteRange

if TYPE_CHECKING:
    from obstore.store import S3Credential  # exists for type checkers only

CONNECTIONS = 16  #: a slide; 27,000 tiles/s at 20 ms with runs of 1 MiB
BYTES_IN_FLIGHT = 32 * 1024**2
ATTEMPTS = 5
FIRST_PAUSE = 0.1  #: s; doubled at each attempt, of which a random share is waited ("full jitter")
LONGEST_PAUSE = 5.0  #: s
REQUEST_SECONDS = 30

Answer = TypeVar("Answer")


class RangeReads:
    """The event loop and the stores, shared by all range sources of a process."""

    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients
        self._stores: dict[str, S3Store] = {}
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        threading.Thread(target=self._loop.run_forever, name="range-reads", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def store(self, bucket: str) -> S3Store:
        with self._lock:
            if bucket not in self._stores:
                endpoint = self._clients.endpoint_url
                at_endpoint: dict[str, Any] = {"endpoint": endpoint} if endpoint else {}
                self._stores[bucket] = S3Store(
                    bucket,
                    **at_endpoint,
                    region=self._clients.region,
                    virtual_hosted_style_request=endpoint is None,
                    client_options={"allow_http": endpoint is not None, "timeout": timedelta(seconds=REQUEST_SECONDS)},
                    retry_config={"max_retries": 0},  # ours below also cover a body that ends early
                    credential_provider=self._credentials,
                )
            return self._stores[bucket]

    def _credentials(self) -> S3Credential:
        frozen = self._clients.credentials().get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            # botocore refreshes its own copy well before it expires; asking every 5 minutes is cheap.
            "expires_at": datetime.now(UTC) + timedelta(minutes=5),
        }


class S3RangeSource:
    """`wsi.slide.ranges.RangeSource` of one object as it stood when it was opened."""

    def __init__(
        self, reads: RangeReads, bucket: str, key: str, stored: StoredObject, *, expected_etag: str | None = None
    ) -> None:
        """Raises SourceChanged when `expected_etag` is given and the object has another."""
        if expected_etag is not None and expected_etag.strip('"') != stored.etag:
            raise SourceChanged("The slide was replaced after it was accepted; upload or register it again.")
        self._reads = reads
        self._store = reads.store(bucket)
        self._key = key
        self._stored = stored

    @property
    def size(self) -> int:
        return self._stored.size

    @property
    def etag(self) -> str:
        return self._stored.etag

    def read(self, byte_range: ByteRange) -> bytes:
        """Exactly `byte_range.size` bytes. Raises SourceMissing, SourceTruncated, SourceChanged, SourceUnavailable."""
        self._check(byte_range)
        return self._reads.submit(self._fetch(byte_range)).result()

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[bytes]:
        """In the order asked for, at most CONNECTIONS at a time and BYTES_IN_FLIGHT ahead of the consumer."""
        for byte_range in ranges:
            self._check(byte_range)
        return self._window(ranges)

    def _window(self, ranges: Sequence[ByteRange]) -> Generator[bytes]:
        flying: deque[tuple[ByteRange, Future[bytes]]] = deque()
        waiting = deque(ranges)
        ahead = 0
        try:
            while waiting or flying:
                while waiting and len(flying) < CONNECTIONS and (not flying or ahead < BYTES_IN_FLIGHT):
                    byte_range = waiting.popleft()
                    ahead += byte_range.size
                    flying.append((byte_range, self._reads.submit(self._fetch(byte_range))))
                byte_range, answer = flying.popleft()
                data = answer.result()
                ahead -= byte_range.size
                yield data
        finally:
            for _, answer in flying:
                answer.cancel()

    def _check(self, byte_range: ByteRange) -> None:
        if byte_range.start < 0 or byte_range.end > self.size:
            raise SourceTruncated(f"The file ends at byte {self.size}, before {byte_range.end}.")

    async def _fetch(self, byte_range: ByteRange) -> bytes:
        if not byte_range.size:
            return b""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._once(byte_range)
            except SourceError as error:
                last = attempt == ATTEMPTS
                if last or not (error.retryable or isinstance(error, SourceTruncated)):
                    raise
            await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)))
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, byte_range: ByteRange) -> bytes:
        try:
            answer = await obstore.get_async(
                self._store,
                self._key,
                options={"range": (byte_range.start, byte_range.end), "if_match": f'"{self.etag}"'},
            )
            data = bytes(await answer.bytes_async())
        except PreconditionError as error:
            raise SourceChanged("The slide was replaced while it was read; upload or register it again.") from error
        except (FileNotFoundError, PermissionDeniedError, UnauthenticatedError) as error:
            raise SourceMissing("The slide does not exist any more or may not be read.") from error
        except GenericError as error:
            raise SourceUnavailable("The object store did not answer; try again in a minute.") from error
        if len(data) != byte_range.size:
            raise SourceTruncated(f"The store sent {len(data)} of {byte_range.size} bytes.")
        return data
