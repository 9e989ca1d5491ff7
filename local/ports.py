"""Ports of 127.0.0.1 for the embedded stack's listeners."""

from __future__ import annotations

import random
import socket

PORTS = range(20_000, 32_768)  #: below the ports that Linux gives to outgoing connections


def choose_free_port() -> int:
    """Return a port that nobody listens on now. Raises RuntimeError when 200 tries find none."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"No free port was found between {PORTS.start} and {PORTS.stop}.")
