"""Decides when the worker leaves, and carries the request to do so."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterable


def should_leave(*, draining: bool, idle_for: float, idle_seconds: float) -> bool:
    """Return whether a worker without a shard leaves. `idle_for`: seconds without work. `idle_seconds`: 0 to stay when
    idle."""
    return draining or bool(idle_seconds and idle_for >= idle_seconds)


class Drain:
    """The request to leave, made once. It sets the events that follow it."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._followers: set[threading.Event] = set()
        self._lock = threading.Lock()

    @property
    def requested(self) -> bool:
        return self._requested.is_set()

    def request(self) -> None:
        """Request the drain."""
        with self._lock:
            self._requested.set()
            for follower in self._followers:
                follower.set()

    def wait(self, seconds: float) -> bool:
        """Sleep until the request comes, at most `seconds`. Return whether it came."""
        return self._requested.wait(seconds)

    def follow(self, event: threading.Event) -> None:
        """Have `event` set with the request."""
        with self._lock:
            self._followers.add(event)
            if self._requested.is_set():
                event.set()

    def unfollow(self, event: threading.Event) -> None:
        """Undo `follow`."""
        with self._lock:
            self._followers.discard(event)


def drain_on_signals(drain: Drain, signals: Iterable[signal.Signals] = (signal.SIGTERM, signal.SIGINT)) -> None:
    """Request the drain when one of `signals` comes. Call this on the main thread.

    A Python signal handler runs on the main thread between two of its bytecodes: late during a forward pass, and with a
    deadlock if it takes a lock that the main thread holds. The wake-up socket is written at once, whatever the main
    thread does, and a thread of its own reads it.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    threading.Thread(target=_await_signals, args=(drain, reader, writer), name="signals", daemon=True).start()


def _await_signals(drain: Drain, reader: socket.socket, writer: socket.socket) -> None:
    """Request the drain at each signal. Keeps both ends of the wake-up socket open until the process ends."""
    while reader.recv(1):
        drain.request()


def drain_with_parent(connection: int, drain: Drain) -> None:
    """Request the drain once the parent closes `connection`, a descriptor: a parent that was killed cannot tell its
    workers to leave."""

    def wait() -> None:
        while os.read(connection, 1):
            pass
        drain.request()

    threading.Thread(target=wait, name="lifeline", daemon=True).start()
