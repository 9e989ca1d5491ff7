"""Requests of an operator about dead letters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adapters.settings.queues import QUEUES
from lambdas.schemas.common import Body
from wsi.records.operations.dead_letters import DeadLetter

QueueName = Annotated[str, Field(pattern=f"^({'|'.join(QUEUES)})$")]


class ListDeadLetters(Body):
    queue: QueueName | None = None  #: None: of all queues
    which: Literal["open", "all"] = "open"  #: open: that wait for an operator
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100  #: the oldest


class RedriveDeadLetters(Body):
    """Have what open letters were about go on, if anybody still wants it."""

    queue: QueueName | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 100


def describe_letter(letter: DeadLetter) -> dict[str, Any]:
    """Return a letter as an answer has it: ids alone, never the text of a body that is none of ours."""
    times = {name: getattr(letter, name) for name in ("sent_at", "arrived_at", "settled_at")}
    return {
        "id": letter.id,
        "queue": letter.queue,
        "slide_id": letter.slide_id,
        "job_id": letter.job_id,
        "shard": letter.shard,
        "receives": letter.receives,
        "outcome": letter.outcome.value,
        **{name: time.isoformat(timespec="seconds") if time is not None else None for name, time in times.items()},
        "redrive": letter.redrive,
    }
