"""A queue from one stage to the next that is bounded by weight (bytes), since what passes has very different sizes."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Closed(Exception):
    """The stages are ending: nobody takes what is put, nothing more comes."""


class Channel(Generic[Item]):
    """One stage puts, one takes."""

    def __init__(self, capacity: int) -> None:
        self.put_waited = 0.0  #: seconds that the stage before waited for room
        self.get_waited = 0.0  #: seconds that the stage behind waited for items
        self.starves = False  #: the stage behind waits for items now
        self._capacity = capacity
        self._items: deque[tuple[Item, int]] = deque()
        self._held = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: Item, weight: int = 0) -> None:
        """Waits while the weight has no room, unless nothing of any weight is held. Raises Closed."""
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
        """None when nothing came within `timeout` seconds. Raises Closed."""
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
        """What is held is dropped."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._held = 0
            self._changed.notify_all()
