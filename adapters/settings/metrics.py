"""Names of the metrics that the sweep writes each minute: for the code that writes them, and for dashboards and
alarms."""

from __future__ import annotations

#: Sums over the minute, or current values; the last two have a value for each job.
JOBS_WAITING = "JobsWaiting"
JOBS_STALLED = "JobsStalled"
OUTBOX_AGE = "OutboxAge"
LEASES_EXPIRED = "LeasesExpired"
MESSAGES_RESENT = "MessagesResent"
GIVEN_UP = "GivenUp"
DEAD_LETTERS = "DeadLetters"
ERASURES_FAILED = "ErasuresFailed"
TILES = "Tiles"
TIME_TO_FIRST_LEASE = "TimeToFirstLease"
TIME_TO_RESULT = "TimeToResult"

SERVICE = "sweep"  #: the only dimension, `service`


def name_line_metric(priority: str) -> str:
    """Return the metric of how long shards of this priority have waited to be admitted: "LineAgeHigh"."""
    return "LineAge" + priority.title()


def name_jobs_metric(state: str) -> str:
    """Return the metric of the live jobs in this state, or of those that ended in it within the minute: "JobsQueued",
    "JobsNoTissue"."""
    return "Jobs" + state.title().replace("_", "")


def make_namespace(queue_prefix: str) -> str:
    """Return the metrics' namespace of one installation: two may share an account."""
    return queue_prefix.rstrip("-")
