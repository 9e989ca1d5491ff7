"""Messages between a model's process and its parent: JSON in packets of a socket; pixels and scores are in shared
memory. Nothing is pickled: who unpickles what a model's process sends would run its code."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from inference.decoding.decode_tasks import Memory
from wsi.errors import DeviceLost, ModelError, ModelFailed, TesseraError, UnsuitableDevice

MOST_BYTES: Final = 64 * 1024  #: of a packet
MOST_LETTERS: Final = 1000  #: of a sentence
QUALITIES: Final = 4  #: columns of `wsi.results.tile_quality.measure`
_FLOAT: Final = 4  #: bytes
ERRORS: Final = {kind.__name__: kind for kind in (ModelError, ModelFailed, UnsuitableDevice, DeviceLost)}

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """The places of a batch in its shared memory: pixels, then scores, then tile quality."""

    shape: tuple[int, int, int, int]  #: of the pixels: [rows, height, width, 3]
    columns: int

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def bytes(self) -> int:
        return self._scores + self.rows * (self.columns + QUALITIES) * _FLOAT

    @property
    def _scores(self) -> int:
        """Return the first byte of the scores."""
        rows, height, width, samples = self.shape
        return -(-rows * height * width * samples // _FLOAT) * _FLOAT

    def view_pixels(self, memory: Memory) -> NDArray[np.uint8]:
        rows, height, width, samples = self.shape
        return memory[: rows * height * width * samples].reshape(self.shape)

    def view_scores(self, memory: Memory) -> NDArray[np.float32]:
        end = self._scores + self.rows * self.columns * _FLOAT
        return memory[self._scores : end].view(np.float32).reshape(self.rows, self.columns)

    def view_quality(self, memory: Memory) -> NDArray[np.float32]:
        end = self._scores + self.rows * self.columns * _FLOAT
        return memory[end : self.bytes].view(np.float32).reshape(self.rows, QUALITIES)


def send(connection: socket.socket, message: Message, *descriptors: int) -> None:
    """Send a message, and open files with it. Raises OSError if the other side is gone."""
    socket.send_fds(connection, [json.dumps(message).encode()], descriptors)


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """Return the next message; None if the other side is gone. Raises ValueError for what is no message."""
    try:
        packet = connection.recv(MOST_BYTES)
    except ConnectionResetError:
        return None
    return _read(packet) if packet else None


def receive_with_files(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next message and the files that came with it; None if the other side is gone."""
    packet, descriptors, _, _ = socket.recv_fds(connection, MOST_BYTES, 1)
    return (_read(packet), descriptors) if packet else None


def describe(error: Exception) -> Message:
    """Return the message of an error. What is none of ours has crossed no border yet: it is a fault of the network."""
    if type(error).__name__ in ERRORS and isinstance(error, TesseraError):
        return {"error": type(error).__name__, "sentence": error.sentence}
    return {"error": ModelFailed.__name__, "sentence": f"The network broke off: {type(error).__name__}."}


def raise_error(message: Message) -> None:
    """Raise the error that the message describes, if it does. A sentence is foreign text: it is shortened."""
    name = message.get("error")
    if name is not None:
        raise ERRORS.get(str(name), ModelFailed)(str(message.get("sentence"))[:MOST_LETTERS])


def _read(packet: bytes) -> dict[str, Any]:
    message = json.loads(packet)
    if not isinstance(message, dict):
        raise ValueError("A message is an object.")
    return message
