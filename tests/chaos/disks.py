"""Mounts a small disk in memory for each worker's copies of slides, and fills it for some seconds."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

MIB = 1024**2
#: A copy leaves 64 MiB to others; the rest is for the copies of the workers killed in the last minute.
SIZE = 160 * MIB
COPY = "tessera-slide-*"
FILLER = "filler"


class Disks:
    """The mounted disks, by the names of the workers."""

    def __init__(self) -> None:
        self._mounted: dict[str, Path] = {}
        self._clear = threading.Event()
        self._threads: list[threading.Thread] = []
        self.happened: Counter[str] = Counter()

    def mount(self, name: str, folder: Path) -> str | None:
        """Mount a disk on a folder. Return the reason if that is impossible, else None."""
        if os.geteuid() != 0:
            return "only root mounts"
        size = f"size={SIZE},mode=0700"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=False, capture_output=True, text=True
        )
        if done.returncode:
            return done.stderr.strip()
        self._mounted[name] = folder
        return None

    def fill(self, name: str, *, seconds: float, wait: float) -> None:
        """Fill a worker's disk for `seconds`: at once, or when a copy begins within `wait` seconds."""
        folder = self._mounted[name]
        known = frozenset(folder.glob(COPY))
        thread = threading.Thread(target=self._fill, args=(folder, known, seconds, wait))
        self._threads.append(thread)
        thread.start()

    def clear(self) -> None:
        """Free all disks for good."""
        self._clear.set()
        for thread in self._threads:
            thread.join()

    def remove(self) -> None:
        """Free and unmount all disks. The workers must have ended."""
        self.clear()
        for folder in self._mounted.values():
            subprocess.run(["umount", folder], check=True)

    def _fill(self, folder: Path, known: frozenset[Path], seconds: float, wait: float) -> None:
        end = time.monotonic() + wait
        while wait and not set(folder.glob(COPY)) - known:
            if time.monotonic() > end or self._clear.wait(0.005):
                return
        filler = folder / FILLER
        try:
            _write_until_full(filler)
            self.happened["disk full in a copy" if wait else "disk full"] += 1
            self._clear.wait(seconds)
        finally:
            filler.unlink(missing_ok=True)


def _write_until_full(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for piece in (MIB, 4096):  # not every kernel writes a part of what has no room: the rest goes page by page
            try:
                while True:
                    file.write(bytes(piece))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
