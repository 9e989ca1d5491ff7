"""Names of the metrics that the sweep writes each minute: for who writes them, and for who draws and watches them."""

from __future__ import annotations

#: Sums over the minute, or what is now; the last two have a value a job.
JOBS_WAITING = "JobsWaiting"
JOBS_STALLED = "JobsStalled"
OUTBOX_AGE = "OutboxAge"
LEASES_EXPIRED = "LeasesExpired"
MESSAGES_RESENT = "MessagesResent"
GIVEN_UP = "GivenUp"
TILES = "Tiles"
TIME_TO_FIRST_LEASE = "TimeToFirstLease"
TIME_TO_RESULT = "TimeToResult"

SERVICE = "sweep"  #: the only dimension, `service`


def jobs_in(state: str) -> str:
    """Live jobs in that state, or those that came into it within the minute: "JobsQueued", "JobsNoTissue"."""
    return "Jobs" + state.title().replace("_", "")


def namespace(queue_prefix: str) -> str:
    """Of one installation: two may share an account."""
    return queue_prefix.rstrip("-")
