"""What came of each slide of a run. Slides in = the sum of the outcomes, always."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

OK = 0
USAGE = 2  #: the command was called wrongly; nothing ran
REJECTED = 3  #: a slide can not be analysed
FAILED = 4  #: a slide could have been analysed, and was not
INTERRUPTED = 130  #: 128 + SIGINT, as shells have it


class Outcome(StrEnum):
    COMPLETED = "completed"
    COMPLETED_WITH_UNREADABLE_TILES = "completed_with_unreadable_tiles"
    NO_TISSUE = "no_tissue"
    SKIPPED = "skipped"  #: an equal run finished before; its files stand
    REJECTED = "rejected"
    FAILED = "failed"
    ESTIMATED = "estimated"  #: a dry run: what it would take is known, and nothing was done
    UPLOADED = "uploaded"  #: ready for jobs (`tessera upload`)
    SUBMITTED = "submitted"  #: the job was made and is not watched (`tessera submit` without --watch)


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideOutcome:
    name: str  #: as in the input list; unique within a run
    outcome: Outcome
    reason: str | None = None  #: reason code when rejected, error code or exception type when failed
    sentence: str | None = None  #: for people
    tiles: int = 0  #: planned = inferred + unreadable
    unreadable: int = 0
    seconds: float = 0.0


def exit_code(outcomes: Sequence[SlideOutcome]) -> int:
    """4 if any slide failed, else 3 if any was rejected, else 0."""
    seen = {outcome.outcome for outcome in outcomes}
    if Outcome.FAILED in seen:
        return FAILED
    return REJECTED if Outcome.REJECTED in seen else OK


def check_sum(names: Sequence[str], outcomes: Sequence[SlideOutcome]) -> None:
    """Raises AssertionError unless every slide that went in has exactly one outcome."""
    if Counter(names) != Counter(outcome.name for outcome in outcomes):
        raise AssertionError(f"{len(names)} slides went in and {len(outcomes)} outcomes came out")


def summary_line(outcomes: Sequence[SlideOutcome]) -> str:
    """ "4 slides = 2 completed + 1 skipped + 1 rejected"."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    terms = " + ".join(f"{counts[kind]} {kind.value}" for kind in Outcome if counts[kind])
    return f"{len(outcomes)} slide{'s' if len(outcomes) != 1 else ''} = {terms or '0'}"


_STYLE = {
    Outcome.COMPLETED: "green",
    Outcome.COMPLETED_WITH_UNREADABLE_TILES: "yellow",
    Outcome.NO_TISSUE: "yellow",
    Outcome.SKIPPED: "dim",
    Outcome.REJECTED: "red",
    Outcome.FAILED: "bold red",
    Outcome.ESTIMATED: "green",
    Outcome.UPLOADED: "green",
    Outcome.SUBMITTED: "green",
}


def table(outcomes: Sequence[SlideOutcome]) -> Table:
    from rich.box import SIMPLE_HEAD  # who runs a slide without the command needs none of it
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(
        caption=summary_line(outcomes), caption_justify="left", highlight=False, box=SIMPLE_HEAD, pad_edge=False
    )
    drawn.add_column("slide", overflow="fold", min_width=20)
    drawn.add_column("outcome", overflow="fold", min_width=20)
    drawn.add_column("tiles", justify="right")
    drawn.add_column("unreadable", justify="right")
    drawn.add_column("seconds", justify="right")
    for row in outcomes:
        drawn.add_row(
            escape(row.name),
            f"[{_STYLE[row.outcome]}]{row.outcome.value}[/]" + (f": {row.reason}" if row.reason else ""),
            f"{row.tiles:,}" if row.tiles else "",
            f"{row.unreadable:,}" if row.unreadable else "",
            f"{row.seconds:.1f}" if row.seconds else "",
        )
    return drawn
