"""Counts of calls: how much work Python code does, whatever else the machine does meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CallCount:
    """The calls of Python functions and of built-in ones so far."""

    def __init__(self) -> None:
        self.calls = 0

    def note(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            self.calls += 1


@contextmanager
def count_calls() -> Iterator[CallCount]:
    """Count the calls of this thread within the block."""
    count, before = CallCount(), sys.getprofile()
    sys.setprofile(count.note)
    try:
        yield count
    finally:
        sys.setprofile(before)
