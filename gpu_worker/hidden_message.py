"""Hides a message from other workers for as long as its work takes, which is not known beforehand."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

from wsi.errors import LeaseLost
from wsi.ports.queues import Queues
from wsi.records.notices import QueueMessage

log = logging.getLogger(__name__)


class HiddenMessage:
    """A message whose visibility is extended on a thread of its own until `end`. It may still return to the queue: two
    workers on one message must come to the same result, or one of them must change nothing."""

    def __init__(self, queues: Queues, queue: str, message: QueueMessage, *, seconds: int) -> None:
        """Begin to extend the message. `seconds`: the visibility that each extension requests."""
        self.message = message
        self._queues, self._queue, self._seconds = queues, queue, seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._extend, name="hidden", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """Stop extending the message. Idempotent."""
        self._ended.set()
        self._thread.join()

    def finish(self) -> None:
        """Delete the message: its work is settled."""
        self.end()
        self._queues.delete(self._queue, self.message.receipt)

    def give_back(self, *, seconds: int = 0) -> None:
        """Make the message visible to others after `seconds`."""
        self.end()
        try:
            self._queues.extend(self._queue, self.message.receipt, seconds=seconds)
        except LeaseLost:
            log.info("message was visible already")

    def _extend(self) -> None:
        while not self._ended.wait(self._seconds / 3):
            try:
                self._queues.extend(self._queue, self.message.receipt, seconds=self._seconds)
            except Exception:  # a thread's border
                log.warning("message not extended", exc_info=True)
