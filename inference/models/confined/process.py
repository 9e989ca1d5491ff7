"""The parent's end of a model's process: started without the parent's environment, asked, limited, and ended."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from inference.child_signals import block_signals
from inference.exit_status import describe_exit
from inference.memory import read_machine_bytes, read_process_bytes
from inference.models.confined import messages
from inference.models.confined.lock import list_search_path
from inference.models.confined.messages import Message
from wsi.errors import ModelFailed
from wsi.records.model_card import ModelCard

COMMAND: Final = (sys.executable, "-m", f"{__package__}.child")
#: Variables that say which device to take and where its driver is. All others stay here: credentials are among them.
_KEPT: Final = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES")
_POLL_SECONDS: Final = 0.5  #: between checks of its memory
_END_SECONDS: Final = 5.0  #: that it gets to end by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelLimits:
    """The most that a model's process may take. Both times are shorter than those after which a worker is stuck."""

    load_seconds: float = 540.0  #: until the model is ready: imports from a slow disk take a minute
    answer_seconds: float = 300.0  #: for a batch
    memory_share: float = 0.8  #: of the machine's memory


class ModelProcess:
    """A process that serves one model. It answers each `ask` with one `wait`, in order; for one thread at a time."""

    def __init__(self, card: ModelCard, package: Path, device: str, limits: ModelLimits) -> None:
        """Start the process, and wait until its model is ready. Raises ModelError, UnsuitableDevice, DeviceLost."""
        self._limits = limits
        self._most_bytes = limits.memory_share * read_machine_bytes()
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        said = {"card": card.as_json(), "package": str(package), "device": device}
        with theirs, _open_order(said) as order, block_signals():
            self._handle = subprocess.Popen(
                [*COMMAND, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=order,
                env=make_environ(os.environ),
            )
        self._connection.settimeout(_POLL_SECONDS)
        try:
            self.ready = self._wait(limits.load_seconds, "become ready")
        except BaseException:
            self.close()
            raise

    def ask(self, message: Message, *descriptors: int) -> None:
        """Send a message. If the process has ended, `wait` says so."""
        try:
            messages.send(self._connection, message, *descriptors)
        except (BrokenPipeError, ConnectionResetError):
            return

    def wait(self) -> dict[str, Any]:
        """Return the answer. Raises the error that it names, and ModelFailed at a limit or if the process ended: then
        it is closed."""
        return self._wait(self._limits.answer_seconds, "answer")

    @property
    def is_closed(self) -> bool:
        return self._connection.fileno() < 0

    @property
    def pid(self) -> int:
        return self._handle.pid

    def close(self) -> None:
        """End the process, and wait until it is gone and its device's memory free."""
        end_process(self._connection, self._handle)

    def make_end(self) -> Callable[[], None]:
        """Return what ends the process, and holds no reference to this object."""
        connection, handle = self._connection, self._handle
        return lambda: end_process(connection, handle)

    def _wait(self, seconds: float, what: str) -> dict[str, Any]:
        answer = self._receive(seconds, what)
        messages.raise_error(answer)
        return answer

    def _receive(self, seconds: float, what: str) -> dict[str, Any]:
        began = time.monotonic()
        while True:
            try:
                answer = messages.receive(self._connection)
                break
            except TimeoutError:
                self._check_limits(began, seconds, what)
            except ValueError:  # no message: it was taken over, or is broken
                answer = None
                break
        if answer is None:
            self.close()
            raise ModelFailed(
                f"The process that ran the model ended {describe_exit(self._handle.returncode)}: it crashed, or it "
                "took more memory than there is."
            )
        return answer

    def _check_limits(self, began: float, seconds: float, what: str) -> None:
        if time.monotonic() - began > seconds:
            self.close()
            raise ModelFailed(f"The model did not {what} within {seconds:,.4g} seconds and was stopped.")
        if read_process_bytes(self._handle.pid) > self._most_bytes:
            self.close()
            raise ModelFailed(
                f"The model took more than {self._most_bytes / 1024**3:,.3g} GiB of memory and was stopped: make it "
                "smaller, or its batch."
            )


def make_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a model's process: nothing of its parent's but where the device is."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    # No program is to be found. A library that makes threads while it is loaded would make them before the lock.
    return {**kept, "PATH": "", "PYTHONPATH": list_search_path(), "OPENBLAS_NUM_THREADS": "1"}


def _open_order(order: Message) -> IO[bytes]:
    """Return a file of memory with the order: a card of 2,560 columns is too long for a packet."""
    file = os.fdopen(os.memfd_create("tessera-order"), "w+b")
    file.write(json.dumps(order).encode())
    file.seek(0)
    return file


def end_process(connection: socket.socket, handle: subprocess.Popen[bytes]) -> None:
    connection.close()
    try:
        handle.wait(_END_SECONDS if handle.poll() is None else 0)
    except subprocess.TimeoutExpired:
        handle.kill()
        handle.wait()
