"""System calls by number, for those that Python has no function for."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any, Final

_NO_NEW_PRIVILEGES: Final = 38  #: PR_SET_NO_NEW_PRIVS of prctl(2)


def call_system(number: int, *arguments: Any) -> int:
    """Return what the system call returns. Raises OSError."""
    converted = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    result: int = _load_library().syscall(ctypes.c_long(number), *converted)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def refuse_new_privileges() -> None:
    """Have every program that this process starts run without more rights than it has: without this the kernel takes no
    filter from a process without privileges. Raises OSError."""
    zero = ctypes.c_ulong(0)
    if _load_library().prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


@cache
def _load_library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library
