"""The queues, a row each: which process takes their messages, how often and how long, and when a wait is an alarm.

The deployment, the stack on this machine and the processes themselves read this table. A new queue is a new row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEAD_LETTERS = "-dlq"  #: suffix of the queue of messages that were received too often
DEAD_LETTER_SECONDS = 14 * 24 * 3600
POD_VISIBILITY = 180  #: s, with a heartbeat
SHARD_RECEIVES = 10  #: spot reclaims burn receives (F-5)
#: Receives of any other message. At the last one, the function that failed records in SQL that nobody need wait; then
#: the message goes to the dead letters.
RECEIVES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFunction:
    """The function that a queue's messages wake."""

    name: str  #: its handler is `lambdas.<name>.handler`
    timeout_seconds: int  #: how long an invocation may take
    at_once: int  #: most calls at once, and most connections to the database (F-7, F-49)
    batch_size: int = 1  #: messages a call

    @property
    def visibility_seconds(self) -> int:
        """Six times the timeout, as AWS asks for (F-7)."""
        return 6 * self.timeout_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueRow:
    """One queue."""

    wakes: QueueFunction | None = None  #: None: pods take its messages, and extend each by a heartbeat
    receives: int = RECEIVES  #: then a message goes to the dead letters
    #: How long the oldest message may wait before an alarm. Functions begin within seconds; five minutes are a cold
    #: start, a retry after a failure that lasts, and some. Shards wait for GPUs, as long as their priority says.
    oldest_seconds: int

    @property
    def visibility_seconds(self) -> int:
        return self.wakes.visibility_seconds if self.wakes else POD_VISIBILITY


HEAVY = "heavy"

#: By name, in the order of a slide's path through the system.
QUEUES: Mapping[str, QueueRow] = {
    # One run of the relay answers all messages of a batch; the others do one thing at a time.
    "wake": QueueRow(
        wakes=QueueFunction(name="relay", timeout_seconds=30, at_once=2, batch_size=10), oldest_seconds=300
    ),
    "inspect": QueueRow(wakes=QueueFunction(name="inspect", timeout_seconds=300, at_once=10), oldest_seconds=900),
    "plan": QueueRow(wakes=QueueFunction(name="plan", timeout_seconds=300, at_once=10), oldest_seconds=900),
    "stitch": QueueRow(wakes=QueueFunction(name="stitch", timeout_seconds=900, at_once=5), oldest_seconds=1_800),
    HEAVY: QueueRow(oldest_seconds=3_600),
    "shards-high": QueueRow(receives=SHARD_RECEIVES, oldest_seconds=900),
    "shards-normal": QueueRow(receives=SHARD_RECEIVES, oldest_seconds=3_600),
    "shards-low": QueueRow(receives=SHARD_RECEIVES, oldest_seconds=6 * 3_600),
    "notify": QueueRow(wakes=QueueFunction(name="notify", timeout_seconds=60, at_once=5), oldest_seconds=900),
}

#: The function that each queue wakes, by the queue's name.
WOKEN: Mapping[str, QueueFunction] = {name: row.wakes for name, row in QUEUES.items() if row.wakes is not None}
POD_QUEUES = tuple(name for name, row in QUEUES.items() if row.wakes is None)
SHARD_QUEUES = tuple(name for name in POD_QUEUES if name != HEAVY)


def get_priority(shard_queue: str) -> str:
    """Return the priority of a queue of shards."""
    return shard_queue.rpartition("-")[2]
