"""seccomp: a process gives up all system calls but those it names; others fail with EPERM.

https://docs.kernel.org/userspace-api/seccomp_filter.html. The list holds what torch, CUDA and Python need once they are
loaded: memory, threads, clocks, and reading or writing what is open. It has no call that makes a socket, a process or a
file, and none that reaches another process. `openat` stays, since libraries are loaded when they are needed first:
Landlock decides which files it opens.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping
from typing import Final

from inference.models.confined.system_calls import call_system, refuse_new_privileges

_SECCOMP: Final = 317
_SET_FILTER, _ALL_THREADS = 1, 1  #: SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC
_X86_64: Final = 0xC000003E  #: AUDIT_ARCH_X86_64
_X32: Final = 0x40000000  #: numbers of the x32 ABI, which no library of ours uses, begin here

#: Numbers of x86-64: https://github.com/torvalds/linux/blob/v6.12/arch/x86/entry/syscalls/syscall_64.tbl
ALLOWED: Final[Mapping[str, int]] = {
    # What is open.
    "read": 0,
    "write": 1,
    "close": 3,
    "fstat": 5,
    "poll": 7,
    "lseek": 8,
    "ioctl": 16,
    "pread64": 17,
    "pwrite64": 18,
    "readv": 19,
    "writev": 20,
    "select": 23,
    "dup": 32,
    "dup2": 33,
    "dup3": 292,
    "recvfrom": 45,
    "sendmsg": 46,
    "recvmsg": 47,
    "shutdown": 48,
    "sendto": 44,
    "fcntl": 72,
    "pselect6": 270,
    "ppoll": 271,
    "epoll_create1": 291,
    "epoll_ctl": 233,
    "epoll_wait": 232,
    "epoll_pwait": 281,
    "eventfd2": 290,
    "pipe2": 293,
    # Files that Landlock leaves.
    "open": 2,
    "stat": 4,
    "lstat": 6,
    "access": 21,
    "getdents64": 217,
    "openat": 257,
    "newfstatat": 262,
    "readlink": 89,
    "readlinkat": 267,
    "faccessat": 269,
    "faccessat2": 439,
    "statx": 332,
    "statfs": 137,
    "fstatfs": 138,
    "getcwd": 79,
    # Memory.
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "mremap": 25,
    "msync": 26,
    "mincore": 27,
    "madvise": 28,
    "mlock": 149,
    "munlock": 150,
    "mlock2": 325,
    "mbind": 237,
    "set_mempolicy": 238,
    "get_mempolicy": 239,
    "memfd_create": 319,
    "ftruncate": 77,
    "membarrier": 324,
    # Threads and signals of this process.
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "rt_sigtimedwait": 128,
    "sigaltstack": 131,
    "sched_yield": 24,
    "sched_getaffinity": 204,
    "sched_setaffinity": 203,
    "sched_getparam": 143,
    "sched_getscheduler": 145,
    "sched_get_priority_max": 146,
    "sched_get_priority_min": 147,
    "getpriority": 140,
    "setpriority": 141,
    "getcpu": 309,
    "futex": 202,
    "set_tid_address": 218,
    "set_robust_list": 273,
    "get_robust_list": 274,
    "rseq": 334,
    "arch_prctl": 158,
    "prctl": 157,
    "exit": 60,
    "exit_group": 231,
    "restart_syscall": 219,
    # Clocks, numbers, limits.
    "nanosleep": 35,
    "clock_nanosleep": 230,
    "gettimeofday": 96,
    "clock_gettime": 228,
    "clock_getres": 229,
    "time": 201,
    "timerfd_create": 283,
    "timerfd_settime": 286,
    "getrandom": 318,
    "uname": 63,
    "sysinfo": 99,
    "getrusage": 98,
    "times": 100,
    "getrlimit": 97,
    "getpid": 39,
    "getppid": 110,
    "gettid": 186,
    "getuid": 102,
    "getgid": 104,
    "geteuid": 107,
    "getegid": 108,
}
_CLONE, _CLONE3, _TGKILL, _PRLIMIT = 56, 435, 234, 302
_THREAD: Final = 0x00010000  #: CLONE_THREAD: a thread of this process, not another process

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  #: of classic BPF
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  #: bytes of struct seccomp_data
_ALLOW: Final = 0x7FFF0000
_FAIL: Final = 0x00050000  #: with an errno in the lower half


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def is_known_here() -> bool:
    """Return whether the numbers above are those of this machine."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def keep_system_calls() -> None:
    """Give up all system calls but ALLOWED, for every thread of this process. Raises OSError."""
    code = make_filter(os.getpid())
    refuse_new_privileges()
    program = _Program(len(code) // 8, code)
    call_system(_SECCOMP, _SET_FILTER, _ALL_THREADS, ctypes.byref(program))


def make_filter(process: int) -> bytes:
    """Return the filter as the kernel takes it: instructions of 8 bytes each. `process` may signal itself alone."""
    fail = _return(_FAIL | errno.EPERM)
    code = [
        _step(_LOAD, _ARCHITECTURE),
        *_unless(_EQUAL, _X86_64, fail),
        _step(_LOAD, _NUMBER),
        *_when(_AT_LEAST, _X32, fail),
    ]
    for number in sorted(ALLOWED.values()):
        code += _when(_EQUAL, number, _return(_ALLOW))
    # glibc tries clone3 first, whose flags no filter can see, and takes clone where the kernel has none.
    code += _when(_EQUAL, _CLONE3, _return(_FAIL | errno.ENOSYS))
    code += _when_argument(_CLONE, _ANY_BIT, _THREAD)
    code += _when_argument(_TGKILL, _EQUAL, process)
    code += _when_argument(_PRLIMIT, _EQUAL, 0)  # itself
    return b"".join([*code, fail])


def _when_argument(number: int, test: int, value: int) -> list[bytes]:
    """Allow a call if its first argument passes the test; else go on with the number in the accumulator."""
    allowed = [_step(_LOAD, _FIRST_ARGUMENT), *_when(test, value, _return(_ALLOW)), _step(_LOAD, _NUMBER)]
    return [_step(_EQUAL, number, 0, len(allowed)), *allowed]


def _when(test: int, value: int, then: bytes) -> list[bytes]:
    return [_step(test, value, 0, 1), then]


def _unless(test: int, value: int, then: bytes) -> list[bytes]:
    return [_step(test, value, 1, 0), then]


def _return(value: int) -> bytes:
    return _step(_RETURN, value)


def _step(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    """Return an instruction. `when` and `otherwise`: how many of the next to skip after a test."""
    return struct.pack("=HBBI", code, when, otherwise, value)
