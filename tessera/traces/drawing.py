"""A waterfall as lines of text: what, where, when, how long, and a bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tessera.traces.selection import LEASE, PlacedSpan

_LEAST_BAR = 12  #: columns; a narrower terminal gets long lines
_WORK, _WAIT, _SUM = "█", "░", "▒"
LEGEND = f"{_WORK} work  {_WAIT} waiting  {_SUM} a stage's work added up: stages run side by side  ✗ failed or lost"


def draw_waterfall(placed: Sequence[PlacedSpan], *, width: int) -> Iterator[Text]:
    """Yield a line for each span, of `width` columns where that leaves room for a bar."""
    if not placed:
        return
    begin = min(one.span.began for one in placed)
    total = max(max(one.span.ended for one in placed) - begin, 1e-6)
    labels = [_make_label(one) for one in placed]
    services = [one.span.service for one in placed]
    label_width, service_width = max(map(cell_len, labels)), max(map(cell_len, services))
    columns = max(_LEAST_BAR, width - label_width - service_width - 22)
    for one, label, service in zip(placed, labels, services, strict=True):
        span = one.span
        line = Text(
            f"{set_cell_size(label, label_width)}  {set_cell_size(service, service_width)} "
            f"{span.began - begin:8.3f} {span.seconds:8.3f}  ",
            no_wrap=True,
            overflow="ignore",
        )
        first = min(columns - 1, int((span.began - begin) / total * columns))
        length = max(1, min(columns - first, round(span.seconds / total * columns)))
        failed = one.is_lost or span.error is not None
        line.append(" " * first)
        line.append(_choose_cell(one) * length, style="red" if failed else "dim" if one.waits else "")
        yield line


def draw_attribution(seconds: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each service or wait, with its share."""
    total = sum(seconds.values()) or 1.0
    name_width = max(map(len, seconds), default=0)
    for name, spent in seconds.items():
        yield f"{name:{name_width}} {spent:9.3f} s {spent / total:6.1%}"


def _choose_cell(one: PlacedSpan) -> str:
    if one.waits:
        return _WAIT
    return _SUM if one.span.attributes.get("is_sum") else _WORK


def _make_label(one: PlacedSpan) -> str:
    span, attributes = one.span, one.span.attributes
    label = "  " * one.depth + span.name
    if "shard" in attributes and not attributes.get("is_sum"):
        label += f" {attributes['shard']}"
        if span.name == LEASE:
            label += f", attempt {attributes['attempt']}"
    if one.waits and int(attributes.get("receives", 1)) > 1:
        label += f", received {attributes['receives']} times"
    if one.is_lost:
        label += " ✗ worker lost"
    elif span.error is not None:
        label += f" ✗ {span.error}"
    return label
