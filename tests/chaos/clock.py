"""Moves the clock of a database's server while it runs: libfaketime adds the seconds in a file to it.

All sessions see a jump the next time that they read the clock. CLOCK_MONOTONIC does not jump, as on a machine whose
clock is set.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

NO_LIBRARY = (
    "no libfaketime (`apt-get install libfaketime`): instead of a clock that jumps ahead, all dates in tables jump"
    " back, and no clock goes back"
)


def find_library() -> Path | None:
    """Return Debian's library for programs of one thread, as Postgres' are; None where it is not installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)


class Clock:
    """The clock of one server. Thread-safe; `environment` is for the server's process."""

    def __init__(self, library: Path) -> None:
        # The server of a root user runs as `nobody`, who cannot read below pytest's folders.
        self._folder = Path(tempfile.mkdtemp(prefix="chaos-clock-", dir="/var/tmp"))
        self._folder.chmod(0o755)
        self._lock = threading.Lock()
        self._timers: list[threading.Timer] = []
        self.ahead = 0.0  #: s
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",  # each change of a file's dates would take a semaphore
        }
        self.jump(0.0)

    @property
    def _file(self) -> Path:
        return self._folder / "seconds"

    def jump(self, seconds: float) -> None:
        """Move the clock ahead; back, if negative."""
        with self._lock:
            self.ahead += seconds
            staging = self._file.with_suffix(".partial")
            staging.write_text(f"{self.ahead:+.3f}\n")
            staging.chmod(0o644)
            staging.replace(self._file)  # a server never reads half of it

    def jump_back(self, seconds: float, *, lasts: float) -> None:
        """Move the clock back, and forward again after `lasts` seconds."""
        self.jump(-seconds)
        timer = threading.Timer(lasts, self.jump, (seconds,))
        self._timers.append(timer)
        timer.start()

    def remove(self) -> None:
        """Stop moving the clock, and delete the file. The server must have ended."""
        for timer in self._timers:
            timer.cancel()
            timer.join()
        shutil.rmtree(self._folder)
