"""Runs `tessera` as on a machine that is no POSIX system: `python -m tests.tessera.without_posix COMMAND …`.

What Windows' Python lacks is taken away before anything of ours is imported. The paths stay those of this machine.
"""

from __future__ import annotations

import mmap
import os
import sys
from importlib import import_module
from pathlib import Path

MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "tty")
FUNCTIONS = (
    *("fork", "forkpty", "memfd_create", "sched_getaffinity", "killpg", "setsid", "sysconf", "pread", "preadv"),
    *("geteuid", "getuid", "getpgid", "getppid", "posix_spawn", "statvfs", "O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW"),
)


def take_away() -> None:
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # importing it raises ModuleNotFoundError
    for name in FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    mapped = mmap.mmap

    def map_as_windows(fileno: int, length: int, tagname: str | None = None, access: int = 0) -> mmap.mmap:
        return mapped(fileno, length)

    del mmap.MAP_ANONYMOUS, mmap.MAP_PRIVATE
    mmap.mmap = map_as_windows  # type: ignore[assignment,misc]


if __name__ == "__main__":
    for library in ("asyncio", "multiprocessing.connection", "shutil", "subprocess", "tempfile"):
        import_module(library)  # as it is for the system that it knows: it looks for POSIX when it is imported
    take_away()
    sys.path.insert(0, str(Path.cwd()))
    from tessera.cli import main

    main()
