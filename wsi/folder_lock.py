"""Locks that keep other processes out of a folder. The system releases them when a process ends, however it ends.

A lock is a file in the folder. Its holder removes it, so that nothing stays behind in a folder of results.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

NAME: Final = ".tessera-lock"
#: Windows removes no file that is open; elsewhere a file that is free must not be removed, since another may hold it.
_REMOVED_WHILE_OPEN: Final = os.name != "nt"


class FolderLock:
    """A lock on one folder, held until `release` or the end of a `with`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        with suppress(FileNotFoundError, PermissionError):  # removed with its folder; opened by another on Windows
            if _REMOVED_WHILE_OPEN:
                self._path.unlink()
        os.close(self._descriptor)
        with suppress(FileNotFoundError, PermissionError):
            if not _REMOVED_WHILE_OPEN:
                self._path.unlink()


def lock_folder(folder: Path) -> FolderLock | None:
    """Lock the folder without waiting; return None if another process holds it. Raises OSError where the file system
    has no locks, or the folder cannot be written."""
    from filelock import lock_descriptor  # takes 0.1 s, and most functions in AWS lock nothing

    path = folder / NAME
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            is_ours = lock_descriptor(descriptor, blocking=False)
        except OSError:
            FolderLock(path, descriptor).release()  # nobody can hold it
            raise
        if is_ours and _is_at(path, descriptor):
            return FolderLock(path, descriptor)
        os.close(descriptor)
        if not is_ours:
            return None
        # Its holder removed it after we had opened it: the next one counts.


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
