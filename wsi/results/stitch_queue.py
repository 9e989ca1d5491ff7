"""The choice of the queue that puts a job's results together: that of a function, or of a process with the disk and the
libraries that gigabytes of vectors or objects need."""

from __future__ import annotations

from typing import Any

from wsi.planning.plan_queue import HEAVY
from wsi.records.model_card import SCORES

STITCH = "stitch"


def choose_stitch_queue(card: dict[str, Any]) -> str:
    """Return the queue of a job of the model with this card, as SQL holds it. Cards of older versions say no output:
    they give scores."""
    output = card.get("output")
    return STITCH if output is None or output in SCORES else HEAVY
