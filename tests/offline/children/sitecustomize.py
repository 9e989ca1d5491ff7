"""Refuses, in any process of Python that has this folder on its path, to look up or reach what is not the loopback.

It stands alone: children of tests load it before anything else (`tests/offline/watching.py`).
"""

from __future__ import annotations

import os
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

#: A file: what was tried, one a line. Who swallows the error has tried it nonetheless.
LOG: Final = "TESSERA_TESTS_OFF_LOOPBACK"

_REACHES: Final = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOKS_UP: Final = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}


def is_loopback(host: object) -> bool:
    """Return whether a host is this machine: a name of it, or an address of the loopback. An empty host and 0.0.0.0 are
    this machine too."""
    text = host.decode(errors="replace") if isinstance(host, (bytes, bytearray)) else host
    if text is None or text in ("", "localhost", "localhost.", "ip6-localhost"):
        return True
    try:
        address = ip_address(str(text).partition("%")[0])
    except ValueError:
        return str(text).endswith(".localhost")  # RFC 6761
    return address.is_loopback or address.is_unspecified


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise OSError for an event of the interpreter that reaches beyond the loopback, and log it."""
    if event in _REACHES:
        target = arguments[1]
        if not isinstance(target, tuple):  # a Unix socket, or the peer of a connected one
            return
        host: object = target[0]
    elif event in _LOOKS_UP:
        host = arguments[0][0] if isinstance(arguments[0], tuple) else arguments[0]
    else:
        return
    if not is_loopback(host):
        said = f"{event} {host!r}"
        log = os.environ.get(LOG)
        if log:
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(f"{said}\n")
        raise ConnectionRefusedError(f"A test reaches beyond the loopback: {said}")


sys.addaudithook(refuse)
