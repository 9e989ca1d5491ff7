"""A model in a process of its own, as the rest of the engine sees it: a `LoadedModel`."""

from __future__ import annotations

import os
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from inference.decoding.decode_tasks import Memory
from inference.decoding.memory import allocate_sealed
from inference.models.confined.messages import SlotLayout
from inference.models.confined.process import ModelLimits, ModelProcess
from inference.models.loaded import InFlight, LoadedModel
from wsi.errors import TesseraError
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, ModelCard

#: Batches in flight: two on the device, and one that is copied meanwhile.
SLOTS: Final = 3


def load_confined(card: ModelCard, package: Path, device: str, limits: ModelLimits | None = None) -> LoadedModel:
    """Load the model in a process of its own that reaches nothing but its package. Raises ModelError,
    UnsuitableDevice, DeviceLost."""
    served = _Served(card, package, device, limits or ModelLimits())
    return ConfinedOnDevice(served) if served.queues else ConfinedModel(served)


class ConfinedModel:
    """A model that computes while it is called."""

    def __init__(self, served: _Served) -> None:
        self._served = served

    @property
    def card(self) -> ModelCard:
        return self._served.card

    @property
    def last_step(self) -> Activation | None:
        return self._served.last_step

    @property
    def pid(self) -> int:
        """Return the id of its process."""
        return self._served.pid

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the scores as `LoadedModel.infer` does."""
        return self._served.start({"ask": "scores", "numerics": numerics.as_json()}, pixels).wait_for_scores()

    def compute_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, columns], of tiles [n, height, width, 3]."""
        return self._served.start({"ask": "output"}, pixels).wait_for_scores()

    def read_usage(self) -> tuple[int, int | None]:
        """Return the peak memory of its process, and of the device, in bytes; None for a model on the CPU."""
        return self._served.read_usage()


class ConfinedOnDevice(ConfinedModel):
    """A model on a device that computes in parallel with the CPU."""

    @property
    def depth(self) -> int:
        return SLOTS

    def start(self, pixels: NDArray[np.uint8], numerics: Numerics) -> InFlight:
        """Start a batch as `Queueing.start` does. Its pixels are copied: the process sees no other slide's."""
        return self._served.start({"ask": "scores", "numerics": numerics.as_json()}, pixels)


class _Served:
    """A model's process, started again after it ended, and the memory that it shares."""

    def __init__(self, card: ModelCard, package: Path, device: str, limits: ModelLimits) -> None:
        self.card = card
        self._package, self._device, self._limits = package, device, limits
        self._turn = 0
        self._slots: dict[int, Memory] = {}
        self._waiting: deque[_Answer] = deque()
        self._process = self._start_process()
        ready = self._process.ready
        self.queues = ready.get("queues") is True
        last_step: Any = ready.get("last_step")
        self.last_step = Activation(last_step) if last_step in set(Activation) else None

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, question: dict[str, Any], pixels: NDArray[np.uint8]) -> _Answer:
        """Give a batch to the process, and return at once. At most SLOTS may be in flight."""
        if self._process.is_closed:
            self._process = self._start_process()
        rows, height, width, samples = pixels.shape
        layout = SlotLayout((rows, height, width, samples), self.card.width)
        slot, self._turn = self._turn, (self._turn + 1) % SLOTS
        descriptors: list[int] = []
        if slot not in self._slots or len(self._slots[slot]) < layout.bytes:
            descriptor, self._slots[slot] = allocate_sealed(layout.bytes)
            descriptors.append(descriptor)
        memory = self._slots[slot]
        layout.view_pixels(memory)[:] = pixels
        self._process.ask(
            {**question, "slot": slot, "shape": layout.shape, "bytes": len(memory)},
            *descriptors,
        )
        for descriptor in descriptors:
            os.close(descriptor)
        answer = _Answer(self, layout, memory)
        self._waiting.append(answer)
        return answer

    def receive_until(self, wanted: _Answer) -> None:
        """Receive answers until that of `wanted` is there. They come in the order of the questions."""
        while not wanted.is_here:
            answer = self._waiting.popleft()
            try:
                answer.take(self._process.wait())
            except TesseraError as error:
                answer.error = error
                if self._process.is_closed:  # it answers none of the others
                    for other in self._waiting:
                        other.error = error
                    self._waiting.clear()

    def read_usage(self) -> tuple[int, int | None]:
        self._process.ask({"ask": "usage"})
        answer = self._process.wait()
        device = answer.get("device_bytes")
        return int(answer["memory_bytes"]), None if device is None else int(device)

    def _start_process(self) -> ModelProcess:
        self._slots.clear()
        process = ModelProcess(self.card, self._package, self._device, self._limits)
        weakref.finalize(self, process.make_end())
        return process


@dataclass(eq=False, slots=True)
class _Answer:
    """A batch that a process computes."""

    served: _Served
    layout: SlotLayout
    memory: Memory
    error: TesseraError | None = None
    scores: NDArray[np.float32] | None = None
    quality: NDArray[np.float32] | None = None
    seconds: float = 0.0

    @property
    def is_here(self) -> bool:
        return self.scores is not None or self.error is not None

    def take(self, answer: dict[str, Any]) -> None:
        """Copy what the process wrote: it can write there again at any time."""
        self.scores = self.layout.view_scores(self.memory).copy()
        self.quality = self.layout.view_quality(self.memory).copy()
        self.seconds = float(answer.get("seconds", 0.0))

    def wait_for_scores(self) -> NDArray[np.float32]:
        """Return the scores [rows, columns]. Raises ModelError, UnsuitableDevice, DeviceLost."""
        self.served.receive_until(self)
        if self.error is not None:
            raise self.error
        assert self.scores is not None
        return self.scores

    def get_quality(self) -> NDArray[np.float32]:
        assert self.quality is not None
        return self.quality
