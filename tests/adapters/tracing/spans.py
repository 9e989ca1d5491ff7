"""Spans as tests need them."""

from __future__ import annotations

from typing import Any

from wsi.records.spans import Span
from wsi.tracing import make_traceparent


def make_span(**given: Any) -> Span:
    usual: dict[str, Any] = {
        "service": "stitch",
        "name": "stitch",
        "traceparent": make_traceparent(),
        "parent": None,
        "began": 1_796_000_000.25,
        "ended": 1_796_000_001.5,
    }
    return Span(**{**usual, **given})
