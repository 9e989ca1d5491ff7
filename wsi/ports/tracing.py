"""The port that finished spans leave by."""

from __future__ import annotations

from typing import Protocol

from wsi.records.spans import Span


class Tracer(Protocol):
    """Takes finished spans. It neither blocks nor raises: a trace must not cost a slide."""

    @property
    def lost(self) -> int:
        """Return the number of spans that could not be sent so far."""
        ...

    def record(self, span: Span) -> None: ...

    def flush(self, seconds: float) -> None:
        """Send what was recorded, and return after this long even if that did not succeed."""
        ...


class NoTracer:
    """A tracer that drops every span, on purpose."""

    lost = 0

    def record(self, span: Span) -> None:
        pass

    def flush(self, seconds: float) -> None:
        pass


NO_TRACER = NoTracer()
