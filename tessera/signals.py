"""The end of a command on SIGINT and SIGTERM."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_GLANCE = 0.2  #: seconds between looks at whether to stop


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets, to stop after the batch in flight; a second SIGINT does not
    wait for it."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with _handle_signals(ask, signal.SIGINT, signal.SIGTERM):
        yield stop


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, as on SIGINT."""
    with _handle_signals(signal.default_int_handler, signal.SIGTERM):
        yield


def sleep_until_stopped(stop: threading.Event, seconds: float) -> None:
    """Sleep, and raise KeyboardInterrupt once `stop` is set. `Event.wait` is not used, since the signal's handler,
    which runs in this thread, could meet the event's lock."""
    until = time.monotonic() + seconds
    while not stop.is_set():
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(_GLANCE, left))
    raise KeyboardInterrupt


@contextmanager
def _handle_signals(handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread alone
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
