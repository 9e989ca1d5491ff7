"""The ledger's part about dead letters."""

from __future__ import annotations

from typing import Protocol

from wsi.records.operations.dead_letters import ArrivedLetter, LetterOutcome


class SystemDeadLetters(Protocol):
    """The sweep's operation on dead letters."""

    def settle_letter(self, letter: ArrivedLetter) -> LetterOutcome:
        """Keep the letter, and do what it asks for, in one transaction; the same letter again returns its first
        outcome.

        The first letter about a work that still waits has it sent again, since letters also die of outages. The next
        one, without any move of the work in between, ends it: a job FAILED with a reason that says which stage, a slide
        or a package REJECTED. A shard that a worker has held since the letter was sent is only sent again: silences and
        failures of workers are counted elsewhere.
        """
        ...
