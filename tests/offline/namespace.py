"""A network namespace of Linux around this process and its children, which has the loopback and nothing else."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

#: Of the namespace that a parent entered: its children are in it and need none of their own.
ENTERED: Final = "TESSERA_TESTS_NAMESPACE"

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # <linux/sched.h>
_GET_FLAGS, _SET_FLAGS, _IS_UP = 0x8913, 0x8914, 1  # <linux/sockios.h>, <linux/if.h>


def enter_namespace() -> bool:
    """Enter a namespace unless a parent did. Return whether this process is in one: not on another system, and not
    where the kernel refuses it, as in many containers."""
    if sys.platform != "linux":
        return False
    if os.environ.get(ENTERED) == _name_namespace():
        return True
    uid, gid = os.geteuid(), os.getegid()
    kinds = _NEW_NETWORK if uid == 0 else _NEW_NETWORK | _NEW_USER
    if ctypes.CDLL(None, use_errno=True).unshare(kinds):
        return False
    if kinds & _NEW_USER:  # the same user inside as outside
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _bring_loopback_up()
    os.environ[ENTERED] = _name_namespace()
    return True


def _name_namespace() -> str:
    return str(Path("/proc/thread-self/ns/net").readlink())


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        interface = struct.pack("16sH14x", b"lo", 0)
        _, flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _GET_FLAGS, interface))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _IS_UP))
