"""Push to subscribers: a hint that something changed, SQL is the truth."""

from __future__ import annotations

from typing import Protocol

from wsi.records.notices import JobUpdate


class Publisher(Protocol):
    def publish(self, update: JobUpdate) -> None:
        """Publish an update. Raises SourceUnavailable if the push service did not accept it."""
        ...
