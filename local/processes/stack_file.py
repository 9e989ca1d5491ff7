"""stack.json: what a running stack says of itself; and the lock that tells whether it runs."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.access import write_private


@contextmanager
def hold_lock(path: Path) -> Generator[None]:
    """Hold this path's lock; wait while another process holds it. The lock goes with the process, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


class StackFile:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "stack.json"
        self._lock_path = folder / "lock"
        self._lock: int | None = None

    def take(self) -> bool:
        """Take the lock; return False when another process runs a stack in this folder. The lock goes with the process,
        however it ends."""
        self._lock_path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def give_back(self) -> None:
        self.path.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def is_taken(self) -> bool:
        """Return whether a process holds the lock now."""
        if self._lock is not None:
            return True
        if not self.take():
            return True
        assert self._lock is not None
        os.close(self._lock)
        self._lock = None
        return False

    def write(self, value: dict[str, Any]) -> None:
        write_private(self.path, value)

    def read(self) -> dict[str, Any] | None:
        """Return stack.json's content; None while no stack has written it."""
        try:
            return json.loads(self.path.read_text())
        except FileNotFoundError:
            return None
