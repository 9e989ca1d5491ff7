"""`wsi.ports.push.Publisher` in memory."""

from __future__ import annotations

from wsi.errors import SourceUnavailable
from wsi.records.notices import JobUpdate


class MemoryPublisher:
    """Keeps what was published; `refusing` makes it fail as a push service that is down."""

    def __init__(self) -> None:
        self.published: list[JobUpdate] = []
        self.refusing = False

    def publish(self, update: JobUpdate) -> None:
        if self.refusing:
            raise SourceUnavailable("The push service did not take the update; it is sent again.")
        self.published.append(update)
