"""Landlock: a process gives up all files but those it names, without any privilege.

https://docs.kernel.org/userspace-api/landlock.html (structures and numbers: include/uapi/linux/landlock.h)
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from enum import IntFlag
from pathlib import Path
from typing import Final

from inference.models.confined.system_calls import call_system, refuse_new_privileges

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  #: the same on every architecture
_ASK_VERSION: Final = 1  #: LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH: Final = 1  #: LANDLOCK_RULE_PATH_BENEATH


class FileRights(IntFlag):
    """Rights to files beneath a path."""

    EXECUTE = 1 << 0
    WRITE = 1 << 1
    READ = 1 << 2
    LIST = 1 << 3
    REFER = 1 << 13  #: since version 2
    TRUNCATE = 1 << 14  #: since version 3
    CONTROL_DEVICES = 1 << 15  #: ioctl; since version 5


_SINCE: Final = {2: FileRights.REFER, 3: FileRights.TRUNCATE, 5: FileRights.CONTROL_DEVICES}
_FIRST: Final = (1 << 13) - 1  #: all rights of version 1, those to make and remove files among them
#: Rights that a rule for a file may have; the kernel refuses others.
_OF_FILES: Final = (
    FileRights.EXECUTE | FileRights.WRITE | FileRights.READ | FileRights.TRUNCATE | FileRights.CONTROL_DEVICES
)


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def read_version() -> int:
    """Return the version of Landlock that the kernel speaks; 0 for none."""
    try:
        return call_system(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def keep_files(allowed: Iterable[tuple[Path, FileRights]]) -> None:
    """Give up all rights to files, for this thread and all that it starts, but those beneath the paths named. A path
    that does not exist is left out. Files that are open stay usable. Raises OSError where the kernel has no Landlock.
    """
    handled, spoken = _FIRST, read_version()
    for version, rights in _SINCE.items():
        if spoken >= version:
            handled |= rights
    attributes = _Ruleset(handled)
    ruleset = call_system(_CREATE_RULESET, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    try:
        for path, rights in allowed:
            _allow(ruleset, path, rights & handled)
        refuse_new_privileges()
        call_system(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rule = _PathBeneath(rights if path.is_dir() else rights & _OF_FILES, opened)
        call_system(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)
