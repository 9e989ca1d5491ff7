"""The process of a model that is code: `python -m inference.models.confined.child CONNECTION`, an open descriptor.

It gives up files before it loads any library, and all other ways out before it opens the package: from then on whatever
the model does stays in here. It ends with its parent, whose end closes the connection.
"""

from __future__ import annotations

import json
import os
import queue
import select
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from inference.child_signals import ignore_signals
from inference.decoding.decode_tasks import Memory
from inference.decoding.memory import map_shared
from inference.memory import read_usage
from inference.models.checks.network_check import Inspectable
from inference.models.confined import messages
from inference.models.confined.lock import lock_calls, lock_files
from inference.models.confined.messages import Message, SlotLayout
from inference.models.loaded import InFlight, LoadedModel, Queueing
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard


class ConfinedServer:
    """Answers the parent's messages about one model, each with one message, in their order."""

    def __init__(self, connection: socket.socket, model: LoadedModel, device: str) -> None:
        self._connection = connection
        self._model = model
        self._device = device
        self._slots: dict[int, Memory] = {}
        self._begun: queue.SimpleQueue[Callable[[], Message]] = queue.SimpleQueue()

    def run(self) -> None:
        """Answer until the parent is gone. Batches are started by this thread and awaited by another, so that the
        device gets the next one while it computes the last."""
        threading.Thread(target=self._answer_all, daemon=True).start()
        while (received := messages.receive_with_files(self._connection)) is not None:
            message, descriptors = received
            if descriptors:
                self._map(message, descriptors[0])
            try:
                answer = self._begin(message)
            except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
                answer = partial(dict, messages.describe(error))
            self._begun.put(answer)

    def _map(self, message: Message, descriptor: int) -> None:
        """Map the memory of a slot, in place of the one that it had."""
        memory = map_shared(descriptor, message["bytes"])
        os.close(descriptor)
        if self._device.startswith("cuda"):
            from inference.decoding.page_lock import lock_pages

            lock_pages(memory)
        self._slots[message["slot"]] = memory

    def _begin(self, message: Message) -> Callable[[], Message]:
        """Start what the message asks for, and return what waits for its answer."""
        if message["ask"] == "usage":
            return self._read_usage
        memory = self._slots[message["slot"]]
        layout = SlotLayout(tuple(message["shape"]), self._model.card.width)
        pixels = layout.view_pixels(memory)
        if message["ask"] == "output":
            return lambda: self._write_output(layout, memory)
        numerics = Numerics.from_json(message["numerics"])
        if isinstance(self._model, Queueing):
            started = self._model.start(pixels, numerics)
            return lambda: _write_batch(started, layout, memory)
        return lambda: self._write_scores(numerics, layout, memory)

    def _answer_all(self) -> None:
        while True:
            answer = self._begun.get()
            try:
                message = answer()
            except Exception as error:  # noqa: BLE001  # as above
                message = messages.describe(error)
            try:
                messages.send(self._connection, message)
            except OSError:
                os._exit(0)  # the parent is gone

    def _write_scores(self, numerics: Numerics, layout: SlotLayout, memory: Memory) -> Message:
        layout.view_scores(memory)[:] = self._model.infer(layout.view_pixels(memory), numerics)
        return {}

    def _write_output(self, layout: SlotLayout, memory: Memory) -> Message:
        assert isinstance(self._model, Inspectable)
        layout.view_scores(memory)[:] = self._model.compute_output(layout.view_pixels(memory))
        return {}

    def _read_usage(self) -> Message:
        memory, device_memory = read_usage(self._device)
        return {"memory_bytes": memory, "device_bytes": device_memory}


def _write_batch(started: InFlight, layout: SlotLayout, memory: Memory) -> Message:
    layout.view_scores(memory)[:] = started.wait_for_scores()
    layout.view_quality(memory)[:] = started.get_quality()
    return {"seconds": started.seconds}


def lock_process(package: Path, device: str) -> None:
    """Lock this process, which keeps the package and the device. Raises OSError; ModelError, if the device is not
    there."""
    lock_files((package,))
    from inference.models.execution.devices import start_device

    start_device(device)
    lock_calls()
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # a network can print, into logs that others read
        os.dup2(silent, stream)


def _end_with_parent(connection: socket.socket) -> None:
    """End this process once the parent is gone, whatever the model does."""
    hung_up = select.poll()
    hung_up.register(connection, 0)  # POLLHUP comes unasked
    hung_up.poll()
    os._exit(0)


def main(connection: socket.socket, order: dict[str, Any]) -> None:
    """Load the model that the order names, say whether it is ready, and serve it."""
    card, package, device = ModelCard.from_json(order["card"]), Path(order["package"]), order["device"]
    try:
        lock_process(package, device)
        threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
        from inference.models.registry import load_model  # loads torch

        model = load_model(card, package, device)
    except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
        messages.send(connection, messages.describe(error))
        return
    last_step: Any = model.last_step if isinstance(model, Inspectable) else None
    messages.send(connection, {"queues": isinstance(model, Queueing), "last_step": last_step})
    ConfinedServer(connection, model, device).run()


if __name__ == "__main__":
    ignore_signals()
    main(socket.socket(fileno=int(sys.argv[1])), json.load(sys.stdin))
