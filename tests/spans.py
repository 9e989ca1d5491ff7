"""A tracer that keeps its spans in memory."""

from __future__ import annotations

from wsi.records.spans import Span


class MemoryTracer:
    lost = 0

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.flushes = 0

    def record(self, span: Span) -> None:
        self.spans.append(span)

    def flush(self, seconds: float) -> None:
        self.flushes += 1

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def one(self, name: str) -> Span:
        (span,) = [span for span in self.spans if span.name == name]
        return span
