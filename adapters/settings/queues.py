"""Names and numbers of the queues (DESIGN section 6): for who makes them, and for who must know when a message comes
last."""

from __future__ import annotations

#: The ways of a slide, in their order; `wsi.records.notices.QUEUES` is the same list, seen from who sends.
QUEUES = ("wake", "inspect", "plan", "stitch", "heavy", "shards-high", "shards-normal", "shards-low", "notify")
SHARD_QUEUES = ("shards-high", "shards-normal", "shards-low")
HEAVY = "heavy"
#: Consumed by pods, which extend a message by a heartbeat; all others wake the function of the same name.
POD_QUEUES = (HEAVY, *SHARD_QUEUES)

DEAD_LETTERS = "-dlq"  #: suffix of the queue that takes what was received too often
DEAD_LETTER_SECONDS = 14 * 24 * 3600
POD_VISIBILITY = 180  #: s, with a heartbeat
SHARD_RECEIVES = 10  #: spot reclaims burn receives (F-5)
#: Of any other message. At the last one, whoever failed says in SQL that nobody need wait; then it goes to the dead
#: letters.
RECEIVES = 5


def lambda_visibility(timeout_seconds: int) -> int:
    """s; six times the timeout of the function that the queue wakes, as AWS asks for (F-7)."""
    return 6 * timeout_seconds
