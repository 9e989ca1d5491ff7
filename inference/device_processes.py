"""Child processes, one for each device: started, reached, noticed when they end, and ended.

The worker's parent (`gpu_worker.supervisor`) and `tessera run` on several GPUs share this. What a child computes, where
it gets its work from, and what its end means for the others is theirs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from inference.all_devices import OneDevice

END_SECONDS: Final = 5.0  #: that a child gets to exit once its connection is closed


@dataclass(eq=False, slots=True)
class DeviceProcess:
    """A child with a device of its own, and the connection to it, which ends with either of the two processes."""

    device: OneDevice
    handle: subprocess.Popen[bytes]
    connection: Connection

    def send(self, message: object) -> None:
        """Send a message. Does nothing if the child has ended: its last messages are still to be received."""
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return

    def receive(self) -> Any:
        """Return the child's next message, or None if it has ended."""
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None

    def wait_for_exit(self) -> int:
        """Return the exit status once the connection is closed on either side; kill a child that does not exit."""
        try:
            return self.handle.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.handle.kill()
            return self.handle.wait()


class DeviceProcesses:
    """The children that run. For one thread; others may only list them."""

    def __init__(self) -> None:
        self._running: tuple[DeviceProcess, ...] = ()

    def __iter__(self) -> Iterator[DeviceProcess]:
        return iter(self._running)

    def __len__(self) -> int:
        return len(self._running)

    def start(
        self, device: OneDevice, command: Sequence[str], *, environ: Mapping[str, str] = os.environ, own_group: bool
    ) -> DeviceProcess:
        """Start a child that sees only `device`. `command` gets one more argument: the descriptor of its connection.

        `own_group`: Ctrl-C in the terminal reaches the parent alone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            handle = subprocess.Popen(
                [*command, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **device.make_environ()},
                process_group=0 if own_group else None,
            )
        started = DeviceProcess(device, handle, Connection(ours.detach()))
        self._running = (*self._running, started)
        return started

    def wait(self, seconds: float) -> list[DeviceProcess]:
        """Return the children that sent a message or ended; wait for one at most `seconds`."""
        ready = wait([child.connection for child in self._running], seconds)
        return [child for child in self._running if child.connection in ready]

    def remove(self, child: DeviceProcess) -> int:
        """Forget a child that ended, and return its exit status: below 0 the number of the signal that killed it."""
        status = child.wait_for_exit()
        child.connection.close()
        self._running = tuple(other for other in self._running if other is not child)
        return status

    def terminate(self) -> None:
        """Tell every child to leave, by SIGTERM."""
        for child in self._running:
            child.handle.terminate()

    def hang_up(self) -> None:
        """Close the connections and forget the children, which leave by themselves."""
        for child in self._running:
            child.connection.close()
        self._running = ()

    def close(self) -> None:
        """Close the connections and wait until every child has exited; kill one that does not."""
        for child in self._running:
            child.connection.close()
        for child in self._running:
            child.wait_for_exit()
        self._running = ()
