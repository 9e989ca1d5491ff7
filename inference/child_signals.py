"""Signals of a child whose parent still finishes its batch: the end of their connection alone ends it. One that tells
the whole process group to leave must not take the child away."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

IGNORED_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def block_signals() -> Generator[None]:
    """Block, for processes started in this block, the signals that they will ignore. They inherit the mask, so that a
    signal that comes before they can ignore it stays pending, and is dropped then, instead of killing them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals() -> None:
    """Ignore them, in the child."""
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
