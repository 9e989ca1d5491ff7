"""Stages on threads, bounded queues between them, and one way for all of it to stop.

`Flow.through(items, capacity)` runs an iterator on a thread of its own and gives back what it yields, at most
`capacity` items ahead. An error in any stage halts all of them at once and comes out of `raise_error`; nothing waits
on a queue whose other side is gone, since every wait looks at the halt.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

Item = TypeVar("Item")
#: Seconds between looks at the halt while a queue is full or empty. Waiting stages cost no CPU worth naming at that.
GLANCE = 0.05
#: Seconds that a halted stage gets to come back from a read on the network. Threads are daemons: one that does not
#: come back keeps no process alive.
PATIENCE = 5.0


class _Halted(Exception):
    """The flow is ending: what this stage makes has no taker."""


class Channel(Generic[Item]):
    """A bounded queue with one producer and one consumer."""

    def __init__(self, name: str, capacity: int, halted: Callable[[], bool]) -> None:
        self.name = name
        self.waited = 0.0  #: seconds that the consumer waited for items
        self._halted = halted
        self._queue: queue.Queue[tuple[Item] | None] = queue.Queue(capacity)  # None: no more items will come

    def put(self, item: Item) -> None:
        """Raises _Halted."""
        self._put((item,))

    def close(self) -> None:
        """No more items will come."""
        with suppress(_Halted):
            self._put(None)

    def _put(self, entry: tuple[Item] | None) -> None:
        while not self._halted():
            try:
                return self._queue.put(entry, timeout=GLANCE)
            except queue.Full:
                continue
        raise _Halted

    def __iter__(self) -> Iterator[Item]:
        """Ends when the producer is done, or at once when the flow is halted."""
        while not self._halted():
            began = time.perf_counter()
            try:
                entry = self._queue.get(timeout=GLANCE)
            except queue.Empty:
                continue
            finally:
                self.waited += time.perf_counter() - began
            if entry is None:
                return
            yield entry[0]


class Flow:
    """The threads of one run. Leaving the context halts and joins them."""

    def __init__(self) -> None:
        self._halt = threading.Event()
        self._threads: list[threading.Thread] = []
        self._errors: list[Exception] = []
        self.channels: list[Channel[object]] = []

    def through(
        self, name: str, items: Iterator[Item], capacity: int, *, stop: threading.Event | None = None
    ) -> Channel[Item]:
        """Runs `items` on a thread. With `stop`, the channel runs dry as soon as that is set."""

        def halted() -> bool:
            return self._halt.is_set() or (stop is not None and stop.is_set())

        channel: Channel[Item] = Channel(name, capacity, halted)
        self.channels.append(channel)  # pyright: ignore[reportArgumentType]  # read for its name and wait only
        thread = threading.Thread(target=self._run, args=(items, channel), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return channel

    def _run(self, items: Iterator[Item], channel: Channel[Item]) -> None:
        try:
            for item in items:
                channel.put(item)
        except _Halted:
            pass
        except Exception as error:  # noqa: BLE001  # a thread's border: raise_error brings it to the caller
            self._errors.append(error)
            self._halt.set()
        finally:
            close = getattr(items, "close", None)  # a generator's: lets its context managers end now
            if close is not None:
                close()
            channel.close()

    def raise_error(self) -> None:
        """Raises the first error of any stage."""
        if self._errors:
            raise self._errors[0]

    def __enter__(self) -> Flow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._halt.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                log.warning("stage did not end in time", extra={"stage": thread.name})
