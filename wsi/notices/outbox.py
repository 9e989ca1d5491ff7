"""Messages after a commit: outbox rows to queues and subscribers, and the wake-up of the relay.

An outbox row is written in the transaction of the move that it reports. The relay claims rows, sends them outside any
transaction and marks them sent. So a crash between sending and marking sends a row twice, and no row is lost (F-29).
Receivers order by (version, progress_seq) and treat queue messages as hints (F-30).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from wsi.ports.ledger import SystemLedger
from wsi.ports.push import Publisher
from wsi.ports.queues import Queues
from wsi.records.fields import select_known_fields
from wsi.records.notices import PUSH, JobUpdate, OutboxRow
from wsi.tracing import make_traceparent

logger = logging.getLogger(__name__)

CLAIM_ROWS = 100
CLAIM_SECONDS = 60.0  #: longer than sending CLAIM_ROWS takes; what was not marked by then is sent again


@dataclass(frozen=True, kw_only=True, slots=True)
class Relayed:
    sent: int
    failed: int  #: rows that stay claimed and come again once their claim has run out


def relay(*, ledger: SystemLedger, queues: Queues, publisher: Publisher) -> Relayed:
    """Send the rows of the outbox until nothing is left to claim."""
    sent = failed = 0
    while rows := ledger.claim_outbox(limit=CLAIM_ROWS, seconds=CLAIM_SECONDS):
        done = [row.id for row in rows if _send(row, queues, publisher)]
        if done:
            ledger.mark_sent(done)
        sent += len(done)
        failed += len(rows) - len(done)
    return Relayed(sent=sent, failed=failed)


def wake(queues: Queues, *, traceparent: str | None = None) -> None:
    """Tell the relay, after a commit, that the outbox holds something. Best effort: a lost wake-up costs a minute,
    since the relay also runs on a schedule."""
    try:
        queues.send("wake", {}, group="wake", traceparent=traceparent or make_traceparent())
    except Exception:  # whatever it is: the commit stands, and its caller must not hear that it failed
        logger.warning("The relay was not woken; its schedule sends the outbox.", exc_info=True)


def _send(row: OutboxRow, queues: Queues, publisher: Publisher) -> bool:
    try:
        if row.topic == PUSH:
            publisher.publish(JobUpdate(**select_known_fields(JobUpdate, row.body)))
        else:
            queues.send(row.topic, row.body, group=str(row.tenant), traceparent=row.traceparent)
    except Exception:  # a row that cannot be sent does not hold up the others; it stays, and comes again
        logger.exception("An outbox row was not sent.", extra={"outbox_id": row.id, "topic": row.topic})
        return False
    return True
