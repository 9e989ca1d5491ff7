"""Dead letters on their way from a queue into the books."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.fakes.queues import MemoryQueues
from tests.installation import Installation
from wsi.dead_letters.collecting import collect_dead_letters
from wsi.errors import SourceUnavailable
from wsi.records.operations.dead_letters import ArrivedLetter, LetterOutcome

SUFFIX = "-dlq"
ENDED_JOB = {"v": 1, "job_id": "0198a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"}


@pytest.fixture
def installation() -> Installation:
    return Installation()


def collect(installation: Installation, *names: str, ledger: Any = None, queues: Any = None) -> dict[str, int]:
    found = collect_dead_letters(
        ledger=ledger or installation.ledger, queues=queues or installation.queues, names=names, suffix=SUFFIX
    )
    return {outcome.value: count for outcome, count in found.items()}


def test_all_dead_letters_are_collected_and_none_of_the_living(installation: Installation) -> None:
    for _ in range(25):
        installation.queues.send("plan-dlq", ENDED_JOB, group="g", traceparent="")
    installation.queues.send("plan", ENDED_JOB, group="g", traceparent="")
    installation.queues.send_text("inspect-dlq", "no JSON")
    assert collect(installation, "plan", "inspect") == {"past": 25, "unreadable": 1}
    assert (installation.queues.depth("plan-dlq"), installation.queues.depth("plan")) == (0, 1)
    assert collect(installation, "plan", "inspect") == {}


class Choking:
    """A ledger that breaks on one letter, as SQL does while it is down."""

    def __init__(self) -> None:
        self.settled: list[str] = []

    def settle_letter(self, letter: ArrivedLetter) -> LetterOutcome:
        if letter.text == "poison":
            raise RuntimeError
        self.settled.append(letter.text)
        return LetterOutcome.PAST


def test_a_letter_that_cannot_be_settled_stays_and_holds_up_no_other(installation: Installation) -> None:
    for text in ("a", "poison", "b"):
        installation.queues.send_text("plan-dlq", text)
    ledger = Choking()
    assert collect(installation, "plan", ledger=ledger) == {"past": 2}
    assert (ledger.settled, installation.queues.depth("plan-dlq")) == (["a", "b"], 1)
    installation.clock.pass_seconds(3_600)
    assert collect(installation, "plan") == {"unreadable": 1}


class Down(MemoryQueues):
    """Queues of which one does not answer."""

    def receive(self, queue: str, **how: Any):
        if queue == "plan-dlq":
            raise SourceUnavailable("The queue service did not answer; try again in a minute.")
        return super().receive(queue, **how)


def test_a_queue_that_does_not_answer_holds_up_no_other(installation: Installation) -> None:
    queues = Down(installation.clock)
    queues.send_text("stitch-dlq", "x")
    assert collect(installation, "plan", "stitch", queues=queues) == {"unreadable": 1}


def test_a_letter_that_was_kept_and_not_deleted_is_kept_once(installation: Installation) -> None:
    """The process ends between SQL and the queue."""

    class Forgetful(MemoryQueues):
        def delete(self, queue: str, receipt: str) -> None:
            pass

    queues = Forgetful(installation.clock)
    queues.send_text("plan-dlq", "no JSON")
    assert collect(installation, "plan", queues=queues) == {"unreadable": 1}
    installation.clock.pass_seconds(3_600)
    assert collect(installation, "plan", queues=queues) == {"unreadable": 1}
    assert len(installation.ledger.books.dead_letters) == 1


def test_a_message_that_dies_in_its_queue_arrives_with_what_it_was(installation: Installation) -> None:
    queues = MemoryQueues(installation.clock, {"plan": 2})
    queues.send("plan", ENDED_JOB, group="g", traceparent="")
    for _ in range(3):
        queues.receive("plan", limit=1, wait_seconds=0, visibility_seconds=1)
        installation.clock.pass_seconds(2)
    assert collect(installation, "plan", queues=queues) == {"past": 1}
    (booked,) = installation.ledger.books.dead_letters.values()
    assert (booked.letter.queue, booked.letter.receives, UUID(booked.letter.message_id).version) == ("plan", 3, 4)
