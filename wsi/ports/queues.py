"""Queues. At least once, in no order: a message is a hint that work exists, SQL is the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from wsi.records.notices import OutgoingMessage, QueueMessage

BATCH = 10  #: messages that one call sends at most, SQS's own bound


class Queues(Protocol):
    """All queues of the installation by name (`adapters.settings.queues.QUEUES`)."""

    def send(self, queue: str, body: Mapping[str, Any], *, group: str, traceparent: str) -> None: ...

    def send_batch(self, queue: str, messages: Sequence[OutgoingMessage]) -> Mapping[int, str]:
        """Send at most BATCH messages in one call. Return those that the queue refused: by their place in `messages`,
        why. The others are sent. Raises SourceUnavailable if the call as a whole failed."""
        ...

    def receive(
        self, queue: str, *, limit: int, wait_seconds: float, visibility_seconds: int
    ) -> Sequence[QueueMessage]:
        """Receive at most `limit` (1..10) messages, hidden from others for `visibility_seconds`. Long-polls."""
        ...

    def extend(self, queue: str, receipt: str, *, seconds: int) -> None:
        """Hide the message for `seconds` from now; 0 gives it back at once. Raises LeaseLost if the receipt is known to
        be void: another receiver got the message, or it is gone."""
        ...

    def delete(self, queue: str, receipt: str) -> None:
        """Delete the message. Idempotent; a void receipt deletes nothing."""
        ...
