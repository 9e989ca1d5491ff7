"""The time of a job by service: each moment counts once, for the work that was done then, or else for the wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tessera.traces.selection import is_wait
from wsi.records.spans import Span

QUEUES = "waiting in queues"
OUTBOX = "waiting in the outbox"
NOTHING = "no span: the client, or a process that was lost"


def split_time(spans: Sequence[Span]) -> Mapping[str, float]:
    """Return seconds by service, or by what was waited for; the most first. They add up to the time from the first
    begin to the last end. Where services work side by side, the moment counts for the one that began last: the upload's
    request, say, has handed its slide on to inspection."""
    edges = sorted({edge for span in spans for edge in (span.began, span.ended)})
    begins = sorted(spans, key=lambda span: span.began)
    seconds: defaultdict[str, float] = defaultdict(float)
    active: list[Span] = []
    coming = 0
    for since, until in pairwise(edges):
        while coming < len(begins) and begins[coming].began <= since:
            active.append(begins[coming])
            coming += 1
        active = [span for span in active if span.ended > since]
        seconds[_choose(active)] += until - since
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def _choose(active: Sequence[Span]) -> str:
    work = [span for span in active if not is_wait(span)]
    if work:
        return max(work, key=lambda span: span.began).service
    if not active:
        return NOTHING
    return QUEUES if any(span.name.startswith("queue ") for span in active) else OUTBOX
