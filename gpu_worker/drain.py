"""When the worker leaves: the decision, and the request."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterable


def leaves(*, draining: bool, idle_for: float, idle_seconds: float) -> bool:
    """Of a worker that holds no shard. `idle_for`: seconds without work. `idle_seconds` 0: never for want of work."""
    return draining or bool(idle_seconds and idle_for >= idle_seconds)


class Drain:
    """The request to leave, made once. Events that follow it are set with it."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._followers: set[threading.Event] = set()
        self._lock = threading.Lock()

    @property
    def requested(self) -> bool:
        return self._requested.is_set()

    def request(self) -> None:
        with self._lock:
            self._requested.set()
            for follower in self._followers:
                follower.set()

    def wait(self, seconds: float) -> bool:
        """Sleeps, unless the request comes first. True: it came."""
        return self._requested.wait(seconds)

    def follow(self, event: threading.Event) -> None:
        with self._lock:
            self._followers.add(event)
            if self._requested.is_set():
                event.set()

    def unfollow(self, event: threading.Event) -> None:
        with self._lock:
            self._followers.discard(event)


def drain_on_signals(drain: Drain, signals: Iterable[signal.Signals] = (signal.SIGTERM, signal.SIGINT)) -> None:
    """Requests the drain when one of `signals` comes. To be called on the main thread.

    A Python signal handler runs on the main thread between two of its bytecodes: late while that is inside a forward
    pass, and in danger of a deadlock if it touches a lock that the main thread holds just then. The wake-up socket is
    written at once, whatever the main thread does, and a thread of its own reads it.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    threading.Thread(target=_await_signals, args=(drain, reader, writer), name="signals", daemon=True).start()


def _await_signals(drain: Drain, reader: socket.socket, writer: socket.socket) -> None:
    """Holds both ends of the wake-up socket open for as long as the process lives."""
    while reader.recv(1):
        drain.request()


def drain_at_end_of(pipe: int, drain: Drain) -> None:
    """Requests the drain once nobody can write to `pipe` any more: a parent that was killed has workers that nobody
    would tell to leave."""

    def wait() -> None:
        while os.read(pipe, 1):
            pass
        drain.request()

    threading.Thread(target=wait, name="lifeline", daemon=True).start()
