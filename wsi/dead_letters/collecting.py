"""Collects dead letters from their queues into SQL, where each tells what it was about that it died."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from wsi.errors import SourceUnavailable
from wsi.ports.dead_letters import SystemDeadLetters
from wsi.ports.queues import BATCH, Queues
from wsi.records.notices import QueueMessage
from wsi.records.operations.dead_letters import ArrivedLetter, LetterOutcome

logger = logging.getLogger(__name__)

HIDDEN_SECONDS = 120  #: longer than a run takes: a letter that could not be settled comes again in the next but one
MOST_BATCHES = 20  #: of one queue in a run


def collect_dead_letters(
    *, ledger: SystemDeadLetters, queues: Queues, names: Iterable[str], suffix: str
) -> Counter[LetterOutcome]:
    """Settle the dead letters of the queues `names`, and return how many had which outcome. A letter leaves its queue
    once SQL has it. One that cannot be settled stays there and holds up no other."""
    outcomes: Counter[LetterOutcome] = Counter()
    for name in names:
        try:
            for _ in range(MOST_BATCHES):
                messages = queues.receive(name + suffix, limit=BATCH, wait_seconds=0, visibility_seconds=HIDDEN_SECONDS)
                if not messages:
                    break
                for message in messages:
                    outcome = _settle(name, message, ledger)
                    if outcome is not None:
                        queues.delete(name + suffix, message.receipt)
                        outcomes[outcome] += 1
        except SourceUnavailable:
            logger.warning("dead letters could not be collected; the next run does", extra={"queue": name})
    return outcomes


def _settle(queue: str, message: QueueMessage, ledger: SystemDeadLetters) -> LetterOutcome | None:
    """Return the outcome; None if the letter could not be settled."""
    letter = ArrivedLetter(
        message_id=message.message_id,
        queue=queue,
        text=message.text,
        receives=message.receives,
        sent_at=message.sent_at,
    )
    try:
        outcome = ledger.settle_letter(letter)
    except Exception:  # whatever it is: the others are settled, and this one stays where it is
        logger.exception("a dead letter could not be settled", extra={"queue": queue})
        return None
    logger.warning("dead letter", extra={"queue": queue, "outcome": outcome, "receives": letter.receives})
    return outcome
