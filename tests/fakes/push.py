"""`wsi.ports.push.Publisher` in memory."""

from __future__ import annotations

from wsi.errors import SourceUnavailable
from wsi.records.notices import JobUpdate, Revocation


class MemoryPublisher:
    """Keeps what was published; `refusing` makes it fail as a push service that is down."""

    def __init__(self) -> None:
        self.published: list[JobUpdate] = []
        self.revoked: list[Revocation] = []
        self.refusing = False

    def publish(self, update: JobUpdate) -> None:
        if self.refusing:
            raise SourceUnavailable("The push service did not take the update; it is sent again.")
        self.published.append(update)

    def end_subscriptions(self, revocation: Revocation) -> None:
        if self.refusing:
            raise SourceUnavailable("The push service did not take the revocation; it is sent again.")
        self.revoked.append(revocation)
