"""Networks on a CUDA device: batches are queued, and the device goes from one to the next without the CPU.

A batch's copy to the device runs on a stream of its own, beside the batch before it. The network of each batch shape is
recorded once as a CUDA graph and then replayed: launching its some hundred kernels one by one would cost the CPU
milliseconds a batch. https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
The graph also measures how the tiles look, whose pixels are there anyway.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from gpu_worker.models.devices import device_errors, translated
from gpu_worker.models.loaded import InFlight
from gpu_worker.models.network import Network
from gpu_worker.models.tile_quality import QualitySums
from wsi.errors import ModelFailed
from wsi.model_card import Activation, ModelCard
from wsi.plan import Numerics
from wsi.quality import finished, lattice

log = logging.getLogger(__name__)

#: Batch shapes that stay on the device: a slide has one, and the slides of a study few. Each holds the memory of one
#: forward pass.
SHAPES = 4
#: Of torch's error, where the CPU waits for a value of the device.
_WAITS = "synchronizing"


class OnCuda:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._lane = lane(network.device)
        self._shapes: OrderedDict[tuple[int, ...], _Shape] = OrderedDict()
        self._records = True

    @property
    def card(self) -> ModelCard:
        return self._network.card

    def on_device(self, pixels: torch.Tensor) -> torch.Tensor:
        """[batch, height, width, 3] uint8 on the device -> [batch, columns] there, kernel by kernel: to be measured
        alone."""
        return self._network(pixels)

    @property
    def last_step(self) -> Activation | None:
        return self._network.last_step

    def output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """[n, height, width, 3] -> [n, columns], before the activation, kernel by kernel."""
        device = self._network.device
        with device_errors(len(pixels), device), self._lane.lock:
            return self._network.output(torch.from_numpy(pixels).to(device)).cpu().numpy()

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """[batch, height, width, 3] -> [batch, columns]. Raises ModelError, UnsuitableDevice, DeviceLost."""
        return self.start(pixels, numerics).scores()

    def start(self, pixels: NDArray[np.uint8], numerics: Numerics) -> InFlight:
        """As `Queueing.start`. The first batch of a shape waits until its graph is recorded."""
        self._network.check(numerics)
        with device_errors(len(pixels), self._network.device), torch.inference_mode(), self._lane.lock:
            return self._shape(pixels.shape).start(torch.from_numpy(pixels))

    def _shape(self, shape: tuple[int, ...]) -> _Shape:
        if shape not in self._shapes:
            if len(self._shapes) >= SHAPES:
                self._forget(1)
            self._shapes[shape] = self._made(shape)
            self._records = self._shapes[shape].is_recorded
        self._shapes.move_to_end(shape)
        return self._shapes[shape]

    def _made(self, shape: tuple[int, ...]) -> _Shape:
        try:
            return _Shape(self._network, shape, self._lane, records=self._records)
        except torch.OutOfMemoryError:
            if not self._shapes:
                raise
        # Out of the handler, whose traceback holds what there is of the shape.
        self._forget(len(self._shapes))
        return _Shape(self._network, shape, self._lane, records=self._records)

    def _forget(self, count: int) -> None:
        """The shapes that were not used for longest."""
        self._lane.computing.synchronize()
        for _ in range(count):
            self._shapes.popitem(last=False)


class _Shape:
    """The network at one batch shape, and the measure of its tiles. Two staging buffers: one is filled while the
    other's batch waits or runs."""

    def __init__(self, network: Network, shape: tuple[int, ...], lane: Lane, *, records: bool) -> None:
        self._network = network
        self._lane = lane
        self._quality = QualitySums(shape[1], shape[2], network.device)
        self._input = torch.zeros(shape, dtype=torch.uint8, device=network.device)
        self._staging = [torch.empty_like(self._input) for _ in range(2)]
        self._read = [torch.cuda.Event() for _ in range(2)]
        self._turn = 0
        lane.computing.wait_stream(torch.cuda.current_stream(network.device))
        with torch.cuda.stream(lane.computing):
            self._outputs = self._computed()  # libraries choose their kernels and allocate in the first pass
            records = records and not self._waits()
        self._graph = self._recorded() if records else None

    @property
    def is_recorded(self) -> bool:
        return self._graph is not None

    def start(self, pixels: torch.Tensor) -> InFlight:
        copying, computing = self._lane.copying, self._lane.computing
        staging, read = self._staging[self._turn], self._read[self._turn]
        self._turn = 1 - self._turn
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True, blocking=True)
        with torch.cuda.stream(copying):
            copying.wait_event(read)
            staging.copy_(pixels, non_blocking=True)
        computing.wait_stream(copying)
        with torch.cuda.stream(computing):
            began.record(computing)
            self._input.copy_(staging)
            read.record(computing)
            if self._graph is not None:
                self._graph.replay()
            else:
                self._outputs = self._computed()
            scores, sums = (_fetched(output) for output in self._outputs)
            ended.record(computing)
        return _Queued(self._network.device, pixels, scores, sums, began, ended)

    def _computed(self) -> tuple[torch.Tensor, torch.Tensor]:
        """[batch, columns] scores and [batch, 5] sums of how the tiles look, on the device."""
        return self._network(self._input), self._quality(self._input)

    def _waits(self) -> bool:
        """Whether the network makes the CPU wait for it, to choose its way by a value. It is asked beforehand, since a
        recording that fails keeps its memory until the process ends (torch 2.14)."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype", UserWarning)
            torch.cuda.set_sync_debug_mode("error")
        try:
            self._outputs = self._computed()
        except Exception as error:
            if _WAITS not in str(error):
                raise
            _log_slow(error)
            return True
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return False

    def _recorded(self) -> torch.cuda.CUDAGraph | None:
        """None: the network does something else that a graph can not hold."""
        graph, computing = torch.cuda.CUDAGraph(), self._lane.computing
        try:
            # Of this thread only: others register memory and copy at the same time. The stream is set twice, since a
            # recording that fails leaves it set (torch 2.14).
            with (
                torch.cuda.stream(computing),
                torch.cuda.graph(graph, stream=computing, capture_error_mode="thread_local"),
            ):
                self._outputs = self._computed()
        except Exception as error:
            if not isinstance(translated(error, 0, self._network.device), ModelFailed):
                raise
            _log_slow(error)
            return None
        return graph


def _log_slow(error: Exception) -> None:
    log.warning("no CUDA graph: the network runs kernel by kernel", extra={"reason": str(error).split("\n")[0]})


def _fetched(output: torch.Tensor) -> torch.Tensor:
    """In page-locked memory, once the device is there."""
    fetched = torch.empty(output.shape, dtype=output.dtype, pin_memory=True)
    return fetched.copy_(output, non_blocking=True)


class _Queued:
    def __init__(
        self,
        device: torch.device,
        pixels: torch.Tensor,
        scores: torch.Tensor,
        sums: torch.Tensor,
        began: torch.cuda.Event,
        ended: torch.cuda.Event,
    ) -> None:
        self._device = device
        self._pixels = pixels  #: held until the device has read them
        self._scores = scores
        self._sums = sums
        self._began = began
        self._ended = ended

    def scores(self) -> NDArray[np.float32]:
        """Sleeps, and does not spin: the cores belong to the decoders. A copy, since scores are kept until their shard
        is written, and torch locks new pages for each batch unless it gets back those of the last."""
        with device_errors(len(self._pixels), self._device):
            self._ended.synchronize()
        return self._scores.numpy().copy()

    def quality(self) -> NDArray[np.float32]:
        return finished(self._sums.numpy(), lattice(*self._pixels.shape[1:3]))

    @property
    def seconds(self) -> float:
        return self._began.elapsed_time(self._ended) / 1000


@dataclass(frozen=True, slots=True)
class Lane:
    """Of a device, for all its models: they take turns, so that the time of each is its own."""

    copying: torch.cuda.Stream
    computing: torch.cuda.Stream
    #: What another thread queued while one records a graph would become part of the graph, and where one looks whether
    #: its network waits, another's must not. Waiting for scores is no queueing, and needs no lock.
    lock: threading.Lock


@cache
def lane(device: torch.device) -> Lane:
    return Lane(torch.cuda.Stream(device), torch.cuda.Stream(device), threading.Lock())
