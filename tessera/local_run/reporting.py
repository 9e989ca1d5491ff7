"""Messages on stderr about slides without results and files that a run leaves out."""

from __future__ import annotations

from collections import Counter

from tessera.local_run.inputs import Found, LeftOutReason
from tessera.local_run.outcomes import MOST_NAMED, Outcome, SlideOutcome
from tessera.progress import complain, with_options


def report(outcome: SlideOutcome) -> None:
    """Print why a slide was rejected or failed: reason code and one sentence."""
    if outcome.outcome in (Outcome.REJECTED, Outcome.FAILED):
        sentence = with_options(outcome.sentence or "")
        complain(f"{outcome.name}: {outcome.outcome.value} ({outcome.reason}): {sentence}")


def report_found(found: Found) -> None:
    """Say which names were read as others, and why files are left out: the first of each reason, since the table has
    them all. Hidden files and our own results are in every folder and need no line."""
    for note in found.notes:
        complain(note)
    lines: Counter[LeftOutReason] = Counter()
    for one in found.left_out:
        if one.reason in (LeftOutReason.HIDDEN, LeftOutReason.OWN_RESULT):
            continue
        lines[one.reason] += 1
        if lines[one.reason] <= MOST_NAMED:
            complain(f"{one.location}: left out ({one.reason.value}): {one.sentence}")
    for reason, count in lines.items():
        if count > MOST_NAMED:
            complain(f"{count - MOST_NAMED:,} more are left out ({reason.value})")
