"""Locks a process that runs foreign code, in two steps: files before its libraries are loaded, since only threads that
start afterwards are bound too; all else once the device has started, whose start needs more."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from inference.models.confined.landlock import FileRights, keep_files, read_version
from inference.models.confined.seccomp import is_known_here, keep_system_calls
from inference.models.confined.system_calls import call_system

_READ: Final = FileRights.READ | FileRights.LIST
_LOAD: Final = _READ | FileRights.EXECUTE
_USE: Final = FileRights.READ | FileRights.WRITE | FileRights.CONTROL_DEVICES
#: Where systems keep libraries, and what the loader and CUDA ask about the machine.
_SYSTEM: Final = (
    *((Path(folder), _LOAD) for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local")),
    *(
        (Path(path), _READ)
        for path in (
            "/etc/ld.so.cache",
            "/sys/devices",
            "/sys/bus/pci",
            "/sys/class",
            "/sys/fs/cgroup",
            "/sys/module/nvidia",
            "/proc/cpuinfo",
            "/proc/devices",
            "/proc/driver/nvidia",
            "/proc/driver/nvidia-caps",
            "/proc/meminfo",
            "/proc/modules",
            "/proc/stat",
            "/proc/sys/vm",
        )
    ),
    *((Path("/dev", name), _USE) for name in ("null", "zero", "urandom", "random")),
)
_PACKAGE: Final = Path(__file__).resolve().parents[2]  #: `inference`
_PACKAGES: Final = ("site-packages", "dist-packages")
_CAPSET, _CAPABILITIES_VERSION = 126, 0x20080522  #: capset(2) and _LINUX_CAPABILITY_VERSION_3


def can_lock() -> bool:
    """Return whether this machine can: a kernel with Landlock and seccomp, on a processor that we have the numbers
    of."""
    return sys.platform == "linux" and is_known_here() and read_version() > 0


def lock_files(readable: Sequence[Path]) -> None:
    """Keep the right to read the system's libraries, Python's, this process's own numbers and `readable`, and to use
    GPUs. For this thread and all that it starts, so it must be the first. Raises OSError."""
    if threading.active_count() > 1 or len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("The process has threads already, which the lock would leave free.")
    keep_files(
        (
            *_SYSTEM,
            *((path, _LOAD) for path in _list_python_folders()),
            (_PACKAGE.parent, FileRights.LIST),  # Python looks for our packages by name
            *((path, _USE) for path in sorted(Path("/dev").glob("nvidia*"))),
            # CUDA's threads write their names into `comm`; without, it does not start (error 304).
            (Path("/proc/self"), _READ | FileRights.WRITE | FileRights.TRUNCATE),
            *((path, _READ) for path in readable),
        )
    )


def lock_calls() -> None:
    """Give up capabilities, core dumps, and all system calls that reach outside this process. Raises OSError."""
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    header = struct.pack("Ii", _CAPABILITIES_VERSION, 0)
    call_system(_CAPSET, ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))
    keep_system_calls()


def _list_python_folders() -> Iterator[Path]:
    """Yield the folders of Python, of its packages, and of our own two packages that a model needs."""
    yield Path(sys.base_prefix, "lib").resolve()
    yield from (Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from (Path(entry).resolve() for entry in sys.path if Path(entry).name in _PACKAGES)
    yield _PACKAGE
    yield _PACKAGE.parent / "wsi"


def list_search_path() -> str:
    """Return PYTHONPATH for the child: where this process finds our packages, and all else."""
    return os.pathsep.join(filter(None, sys.path))
