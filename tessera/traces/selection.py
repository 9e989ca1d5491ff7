"""The spans of one job, out of a trace that may hold several jobs of the slide, and in the order of a waterfall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wsi.records.spans import Span

LEASE = "lease shard"  #: of the worker: everything else of an attempt is below it
_END = "settle shard"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedSpan:
    """A span, and its place in the tree."""

    span: Span
    depth: int
    waits: bool  #: nobody worked: a message was in a queue, or in the outbox
    is_lost: bool = False  #: an attempt at a shard whose worker never said how it ended


def select_job(spans: Iterable[Span], job_id: str) -> tuple[Span, ...]:
    """Return the job's spans and those of the slide itself, once each, by their begin."""
    unique = {span.span_id: span for span in spans}
    owners = {span_id: _find_owner(span, unique) for span_id, span in unique.items()}
    own = [span for span_id, span in unique.items() if owners[span_id] in (None, job_id)]
    return tuple(sorted(own, key=lambda span: (span.began, -span.ended)))


def place_spans(spans: Sequence[Span], *, job_ended: bool) -> tuple[PlacedSpan, ...]:
    """Return the spans from the root down, each before its parts. A span whose parent is not here is a root: a client's
    own trace leads to it. `job_ended`: an attempt without an end was lost then, and does not run any more."""
    known = {span.span_id for span in spans}
    below: defaultdict[str | None, list[Span]] = defaultdict(list)
    for span in spans:
        below[span.parent if span.parent in known else None].append(span)
    return tuple(_walk(None, 0, below, _find_lost(spans, below, job_ended=job_ended)))


def is_wait(span: Span) -> bool:
    """Return whether the span is a message's wait."""
    return span.name.startswith(("queue ", "outbox "))


def _find_owner(span: Span, spans: Mapping[str, Span]) -> str | None:
    """Return the job that the span, or the nearest of its ancestors, names."""
    seen: set[str] = set()
    at: Span | None = span
    while at is not None and at.span_id not in seen:
        if "job_id" in at.attributes:
            return str(at.attributes["job_id"])
        seen.add(at.span_id)
        at = spans.get(at.parent or "")
    return None


def _find_lost(spans: Sequence[Span], below: Mapping[str | None, Sequence[Span]], *, job_ended: bool) -> set[str]:
    leases = [span for span in spans if span.name == LEASE]
    latest = {span.attributes.get("shard"): span.attributes.get("attempt") for span in leases}
    return {
        span.span_id
        for span in leases
        if not any(part.name == _END for part in below.get(span.span_id, ()))
        and (job_ended or latest[span.attributes.get("shard")] != span.attributes.get("attempt"))
    }


def _walk(
    parent: str | None, depth: int, below: Mapping[str | None, Sequence[Span]], lost: set[str]
) -> Iterator[PlacedSpan]:
    for span in below.get(parent, ()):
        yield PlacedSpan(span=span, depth=depth, waits=is_wait(span), is_lost=span.span_id in lost)
        yield from _walk(span.span_id, depth + 1, below, lost)
