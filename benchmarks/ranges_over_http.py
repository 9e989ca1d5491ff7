"""A `RangeSource` over plain HTTP through obstore, as the production's one over S3 but without boto3, which machines
that only measure do not have."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Final

import obstore
from obstore.store import HTTPStore

from wsi.slide.ranges import ByteRange, Data

#: Requests in flight, as `adapters.settings.reads` sets them for a slide.
CONNECTIONS: Final = 16


class HttpRangeSource:
    def __init__(self, url: str, key: str, *, size: int, etag: str) -> None:
        self.size, self.etag = size, etag
        self._key = key
        self._store: Any = HTTPStore.from_url(url, client_options={"allow_http": True})
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="range-reads", daemon=True).start()

    def read(self, byte_range: ByteRange) -> bytes:
        return bytes(self._begin(byte_range).result())

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        flying: deque[Future[Data]] = deque()
        for byte_range in ranges:
            flying.append(self._begin(byte_range))
            if len(flying) >= CONNECTIONS:
                yield flying.popleft().result()
        while flying:
            yield flying.popleft().result()

    def _begin(self, byte_range: ByteRange) -> Future[Data]:
        return asyncio.run_coroutine_threadsafe(self._fetch(byte_range), self._loop)

    async def _fetch(self, byte_range: ByteRange) -> Data:
        return memoryview(
            await obstore.get_range_async(self._store, self._key, start=byte_range.start, end=byte_range.end)
        )
