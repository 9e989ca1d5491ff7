"""A queue between two stages that is bounded by weight (bytes), since its items differ widely in size."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Closed(Exception):
    """The stages are ending: nothing that is put is read, and nothing more comes."""


class Channel(Generic[Item]):
    """A bounded queue for one stage that puts and one that gets."""

    def __init__(self, capacity: int) -> None:
        self.put_waited = 0.0  #: seconds that the putting stage waited for room
        self.get_waited = 0.0  #: seconds that the getting stage waited for items
        self.starves = False  #: the getting stage waits for an item now
        self._capacity = capacity
        self._items: deque[tuple[Item, int]] = deque()
        self._held = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: Item, weight: int = 0) -> None:
        """Append an item; wait while its weight does not fit, unless the channel holds no weight. Raises Closed."""
        with self._changed:
            began = time.perf_counter()
            while not self._closed and self._held and self._held + weight > self._capacity:
                self._changed.wait()
            self.put_waited += time.perf_counter() - began
            if self._closed:
                raise Closed
            self._items.append((item, weight))
            self._held += weight
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> Item | None:
        """Return the next item, or None if none came within `timeout` seconds. Raises Closed."""
        with self._changed:
            began = time.perf_counter()
            until = None if timeout is None else began + timeout
            self.starves = not self._items
            while not self._closed and not self._items:
                left = None if until is None else until - time.perf_counter()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            self.starves = False
            self.get_waited += time.perf_counter() - began
            if self._closed:
                raise Closed
            if not self._items:
                return None
            item, weight = self._items.popleft()
            self._held -= weight
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """Drop all items, and raise Closed in both stages."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._held = 0
            self._changed.notify_all()
