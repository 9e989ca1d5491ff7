"""Push to subscribers: a hint that something changed, SQL is the truth."""

from __future__ import annotations

from typing import Protocol

from wsi.records.notices import JobUpdate, Revocation


class Publisher(Protocol):
    def publish(self, update: JobUpdate) -> None:
        """Publish an update. Raises SourceUnavailable if the push service did not accept it."""
        ...

    def end_subscriptions(self, revocation: Revocation) -> None:
        """End the open subscriptions of those whom the revocation concerns; a repetition ends what began meanwhile.
        Raises SourceUnavailable if the push service did not accept it."""
        ...
