"""Messages after a commit: outbox rows to queues and subscribers, and the wake-up of the relay.

An outbox row is written in the transaction of the move that it reports, that of a shard when the relay admits it. The
relay claims rows, sends them outside any transaction and marks them sent. So a crash between sending and marking sends
a row twice, and no row is lost (F-29). Receivers order by (version, progress_seq) and treat queue messages as hints
(F-30).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from wsi.notices.sending import OutboxSender, SendingTimes
from wsi.ports.ledger import SystemLedger
from wsi.ports.push import Publisher
from wsi.ports.queues import Queues
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.records.notices import REVOCATION
from wsi.tracing import make_traceparent

logger = logging.getLogger(__name__)

#: Rows of one claim, and of one record of what was sent. More would make fewer statements, and a row of a queue that
#: comes meanwhile wait longer for the next claim. The ids stay far below the 16 KB that pin a session of the proxy.
CLAIM_ROWS = 400
#: s that a claim outlasts its run: no other relay gets a row that this one may still send. A row that failed waits as
#: long at least.
CLAIM_MARGIN_SECONDS = 30.0
#: s at the end of a run in which no send begins: those under way end.
SETTLE_SECONDS = 5.0
#: s at the very end of a run that are left for recording, whatever is still under way.
RECORD_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Relayed:
    """The numbers of rows that one run claimed, by what became of them."""

    sent: int = 0
    failed: int = 0  #: rows that stay claimed and come again once their claim has run out
    put_back: int = 0  #: rows that time did not suffice for; any relay may claim them at once
    admitted: int = 0  #: shards that were let out of their tenants' lines


def relay(
    *,
    ledger: SystemLedger,
    queues: Queues,
    publisher: Publisher,
    seconds: float,
    shards_in_flight: int,
    clock: Callable[[], float] = time.monotonic,
    tracer: Tracer = NO_TRACER,
) -> Relayed:
    """Send the rows of the outbox until nothing is left to claim, or until this process is about to be ended, in
    `seconds` from now. Before each claim, admit shards up to `shards_in_flight` of each priority."""
    ends_at = clock() + seconds
    times = SendingTimes(last_begin=ends_at - SETTLE_SECONDS, last_end=ends_at - RECORD_SECONDS, clock=clock)
    sent = failed = put_back = admitted = 0
    refused: set[int] = set()
    with OutboxSender(queues, publisher, times, tracer) as sender:
        while times.allow_begin():
            admitted += ledger.admit_shards(in_flight=shards_in_flight)
            rows = ledger.claim_outbox(limit=CLAIM_ROWS, seconds=ends_at - clock() + CLAIM_MARGIN_SECONDS)
            if not rows:
                break
            outcome = sender.send(rows)
            if outcome.sent:
                ledger.mark_sent(outcome.sent)
            if outcome.untried:
                ledger.release_outbox(outcome.untried)
            sent += len(outcome.sent)
            put_back += len(outcome.untried)
            failed += len(rows) - len(outcome.sent) - len(outcome.untried)
            revoking = {row.id for row in rows if row.topic == REVOCATION}
            refused |= revoking.difference(outcome.sent, outcome.untried)
    if refused:  # the next run tries at once, a minute from now at the latest: nobody may listen on meanwhile
        ledger.release_outbox(tuple(refused))
    return Relayed(sent=sent, failed=failed, put_back=put_back, admitted=admitted)


def wake(queues: Queues, *, traceparent: str | None = None) -> None:
    """Tell the relay, after a commit, that the outbox holds something. Best effort: a lost wake-up costs a minute,
    since the relay also runs on a schedule."""
    try:
        queues.send("wake", {}, group="wake", traceparent=traceparent or make_traceparent())
    except Exception:  # whatever it is: the commit stands, and its caller must not hear that it failed
        logger.warning("The relay was not woken; its schedule sends the outbox.", exc_info=True)
