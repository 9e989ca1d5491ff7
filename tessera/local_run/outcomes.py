"""The outcome of each slide of a run. Slides in = the sum of the outcomes, always."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tessera.local_run.inputs import Found
from tessera.local_run.inputs.slide_input import describe_names

if TYPE_CHECKING:
    from rich.table import Table

MOST_NAMED = 5  #: files of a reason that the table names

OK = 0
USAGE = 2  #: the command was called wrongly; nothing ran
REJECTED = 3  #: a slide cannot be analysed
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
    LEFT_OUT = "left_out"  #: a file of a folder that is no slide; it does not change the exit code
    WAITING = "waiting"  #: a watch ended before the slide was complete, or before its turn came
    VANISHED = "vanished"  #: it was taken away before it was analysed


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideOutcome:
    name: str  #: as in the input list; unique within a run
    outcome: Outcome
    reason: str | None = None  #: reason code when rejected, error code or exception type when failed
    sentence: str | None = None  #: for people
    tiles: int = 0  #: planned = inferred + unreadable
    unreadable: int = 0
    seconds: float = 0.0


def choose_exit_code(outcomes: Sequence[SlideOutcome]) -> int:
    """Return 4 if any slide failed, else 3 if any was rejected, else 0."""
    seen = {outcome.outcome for outcome in outcomes}
    if Outcome.FAILED in seen:
        return FAILED
    return REJECTED if Outcome.REJECTED in seen else OK


def check_sum(names: Sequence[str], outcomes: Sequence[SlideOutcome]) -> None:
    """Raise AssertionError unless every slide that went in has exactly one outcome."""
    if Counter(names) != Counter(outcome.name for outcome in outcomes):
        raise AssertionError(f"{len(names)} slides went in and {len(outcomes)} outcomes came out")


def summarise_outcomes(outcomes: Sequence[SlideOutcome]) -> str:
    """Return "4 slides = 2 completed + 1 skipped + 1 rejected"; with files that were left out, "9 inputs = …"."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    terms = " + ".join(f"{counts[kind]} {kind.value}" for kind in Outcome if counts[kind])
    what = "input" if counts[Outcome.LEFT_OUT] else "slide"
    return f"{len(outcomes)} {what}{'s' if len(outcomes) != 1 else ''} = {terms or '0'}"


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
    Outcome.LEFT_OUT: "dim",
    Outcome.WAITING: "yellow",
    Outcome.VANISHED: "yellow",
}


def make_table(outcomes: Sequence[SlideOutcome], found: Found | None = None) -> Table:
    """Return a table with a row a slide and a row a reason of what was left out. The caption adds up the rows and, of
    `found`, the files."""
    from rich.box import SIMPLE_HEAD  # a run without the command needs none of it
    from rich.table import Table

    from tessera.terminal import escape_text

    drawn = Table(
        caption=make_caption(outcomes, found), caption_justify="left", highlight=False, box=SIMPLE_HEAD, pad_edge=False
    )
    drawn.add_column("slide", overflow="fold", min_width=20)
    drawn.add_column("outcome", overflow="fold", min_width=20)
    drawn.add_column("tiles", justify="right")
    drawn.add_column("unreadable", justify="right")
    drawn.add_column("seconds", justify="right")
    for row in outcomes:
        if row.outcome is Outcome.LEFT_OUT:
            continue
        drawn.add_row(
            escape_text(row.name),
            f"[{_STYLE[row.outcome]}]{row.outcome.value}[/]" + (f": {row.reason}" if row.reason else ""),
            f"{row.tiles:,}" if row.tiles else "",
            f"{row.unreadable:,}" if row.unreadable else "",
            f"{row.seconds:.1f}" if row.seconds else "",
        )
    for names, cell in make_left_out_rows(outcomes):
        drawn.add_row(escape_text(names), f"[{_STYLE[Outcome.LEFT_OUT]}]{cell}[/]")
    return drawn


def make_left_out_rows(outcomes: Sequence[SlideOutcome]) -> Sequence[tuple[str, str]]:
    """Return a row for each reason: the first names and how many more there are; and the reason with the number of
    files. Folders of slides hold thousands of other files."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for row in outcomes:
        if row.outcome is Outcome.LEFT_OUT:
            by_reason[row.reason or ""].append(_last_part(row.name))
    return [
        (describe_names(names, MOST_NAMED), f"left_out: {reason} ({len(names):,})")
        for reason, names in by_reason.items()
    ]


def _last_part(location: str) -> str:
    """Return the name without the folders before it; that of a folder ends with a slash."""
    return location[location.rstrip("/").rfind("/") + 1 :]


def make_caption(outcomes: Sequence[SlideOutcome], found: Found | None) -> str:
    """Return the sum of the outcomes and, where files were left out, that of the files."""
    return summarise_outcomes(outcomes) + (
        f"\n{summarise_files(found)}" if found is not None and found.left_out else ""
    )


def summarise_files(found: Found) -> str:
    """Return "40 files = 21 in 4 slides + 19 left out": the files that were in the folders, each once."""
    of_slides, left_out, slides = found.files_of_slides, found.files_left_out, len(found.slides)
    return (
        f"{of_slides + left_out:,} file{'s' if of_slides + left_out != 1 else ''} = {of_slides:,} in {slides:,} "
        f"slide{'s' if slides != 1 else ''} + {left_out:,} left out"
    )
