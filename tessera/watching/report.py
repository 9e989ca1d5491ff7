"""A watch's events as lines on stdout: for people, or a JSON object each for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.progress import with_options
from tessera.watching.events import Event, EventKind

_WITH_REASON: Final = frozenset({Outcome.REJECTED, Outcome.FAILED, Outcome.LEFT_OUT})


def make_line_printer(root: str) -> Callable[[Event], None]:
    """Return a function that prints an event as a line with its local time. Locations are shown below `root`."""
    return lambda event: _print(f"{datetime.now():%H:%M:%S}  {describe_event(event, root)}")


def print_json_line(event: Event) -> None:
    """Print an event as one JSON object."""
    stated: dict[str, Any] = {"event": event.kind.value, "at": datetime.now(UTC).isoformat(timespec="milliseconds")}
    optional = {"slide": event.slide, "name": event.name, "sentence": event.sentence, "count": event.count}
    stated |= {name: value for name, value in optional.items() if value}
    if event.outcome is not None:
        stated |= _fields(event.outcome)
    _print(json.dumps(stated))


def print_json_end(outcomes: Sequence[SlideOutcome], *, interrupted: bool) -> None:
    """Print the last line: every outcome, as the table shows them."""
    _print(json.dumps({"event": "end", "interrupted": interrupted, "slides": [_fields(one) for one in outcomes]}))


def describe_event(event: Event, root: str) -> str:
    slide = event.slide.removeprefix(root).lstrip("/")
    sentence = with_options(event.sentence or "")
    match event.kind:
        case EventKind.RESUMED:
            return f"an earlier watch finished {event.count:,} of what is here"
        case EventKind.STARTED:
            return f"started    {slide}"
        case EventKind.ENDED:
            assert event.outcome is not None
            return f"{_describe_end(event.outcome)}"
        case EventKind.UNREACHABLE:
            return f"{root} cannot be listed, and is tried again: {sentence}"
        case EventKind.REACHABLE:
            return f"{root} can be listed again"
        case EventKind.UNRECORDED:
            return f"the journal cannot be written, and a restart would analyse {slide} again: {sentence}"
        case _:
            return f"{event.kind.value:<9}  {slide}" + (f": {sentence}" if sentence else "")


def _describe_end(outcome: SlideOutcome) -> str:
    """Return "completed  a: 1,234 tiles in 5.1 s"."""
    kind = outcome.outcome.value.replace("_", " ")
    if outcome.outcome in _WITH_REASON:
        return f"{kind:<9}  {outcome.name} ({outcome.reason}): {with_options(outcome.sentence or '')}"
    more = f": {outcome.tiles:,} tiles in {outcome.seconds:,.1f} s" if outcome.tiles else ""
    return f"{kind:<9}  {outcome.name}{more}"


def _fields(outcome: SlideOutcome) -> dict[str, Any]:
    stated = asdict(outcome) | {"outcome": outcome.outcome.value}
    return {name: value for name, value in stated.items() if value not in (None, 0)}


def _print(line: str) -> None:
    """Print a line and flush it, since a program waits for it; names that are no Unicode are shown with question
    marks."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(line.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stdout.flush()
