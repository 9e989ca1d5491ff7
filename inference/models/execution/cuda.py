"""Networks on a CUDA device: batches are queued, and the device goes from one to the next without the CPU.

A batch's copy to the device runs on a stream of its own, in parallel with the batch before it. The network of each
batch shape is recorded once as a CUDA graph and then replayed: launching its hundreds of kernels one by one would cost
the CPU milliseconds a batch. https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
The graph also measures tile quality, since the pixels are on the device anyway.
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

from inference.models.execution.devices import translate_error, translate_errors
from inference.models.loaded import InFlight
from inference.models.network import Network
from inference.models.tile_quality import QualitySums
from wsi.errors import ModelFailed
from wsi.planning.plan import Numerics
from wsi.records.model_card import Activation, ModelCard
from wsi.results.tile_quality import compute_columns, make_lattice

log = logging.getLogger(__name__)

#: Batch shapes that stay on the device: a slide has one, and the slides of a study few. Each holds the memory of one
#: forward pass.
SHAPES = 4
#: A word of torch's error message when the CPU waits for a value of the device.
_WAITS = "synchronizing"


class OnCuda:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._lane = get_lane(network.device)
        self._shapes: OrderedDict[tuple[int, ...], _Shape] = OrderedDict()
        self._records = True

    @property
    def card(self) -> ModelCard:
        return self._network.card

    @property
    def depth(self) -> int:
        """Return 2: the current batch, and the next one."""
        return 2

    def compute_on_device(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the scores [batch, columns] of tiles [batch, height, width, 3] uint8, both on the device. The network
        runs kernel by kernel, so that it can be measured alone."""
        return self._network(pixels)

    @property
    def last_step(self) -> Activation | None:
        return self._network.last_step

    def compute_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, columns], of tiles [n, height, width, 3], kernel by kernel."""
        device = self._network.device
        with translate_errors(len(pixels), device), self._lane.lock:
            return self._network.compute_output(torch.from_numpy(pixels).to(device)).cpu().numpy()

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the scores [batch, columns] of tiles [batch, height, width, 3]. Raises ModelError, UnsuitableDevice,
        DeviceLost."""
        return self.start(pixels, numerics).wait_for_scores()

    def start(self, pixels: NDArray[np.uint8], numerics: Numerics) -> InFlight:
        """Start a batch as `Queueing.start` does. The first batch of a shape waits until its graph is recorded."""
        self._network.check(numerics)
        with translate_errors(len(pixels), self._network.device), torch.inference_mode(), self._lane.lock:
            return self._shape(pixels.shape).start(torch.from_numpy(pixels))

    def _shape(self, shape: tuple[int, ...]) -> _Shape:
        if shape not in self._shapes:
            if len(self._shapes) >= SHAPES:
                self._forget(1)
            self._shapes[shape] = self._make_shape(shape)
            self._records = self._shapes[shape].is_recorded
        self._shapes.move_to_end(shape)
        return self._shapes[shape]

    def _make_shape(self, shape: tuple[int, ...]) -> _Shape:
        try:
            return _Shape(self._network, shape, self._lane, records=self._records)
        except torch.OutOfMemoryError:
            if not self._shapes:
                raise
        # Outside the handler, whose traceback keeps the partly built shape alive.
        self._forget(len(self._shapes))
        return _Shape(self._network, shape, self._lane, records=self._records)

    def _forget(self, count: int) -> None:
        """Drop the `count` shapes that were not used for longest, once the device is idle."""
        self._lane.computing.synchronize()
        for _ in range(count):
            self._shapes.popitem(last=False)


class _Shape:
    """The network at one batch shape, and the quality of its tiles. Two staging buffers: one is filled while the
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
            self._outputs = self._compute()  # libraries choose their kernels and allocate in the first pass
            records = records and not self._waits()
        self._graph = self._record_graph() if records else None

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
                self._outputs = self._compute()
            scores, sums = (_queue_copy(output) for output in self._outputs)
            ended.record(computing)
        return _Queued(self._network.device, pixels, scores, sums, began, ended)

    def _compute(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores [batch, columns] and the sums of tile quality [batch, 5], on the device."""
        return self._network(self._input), self._quality(self._input)

    def _waits(self) -> bool:
        """Return whether the network makes the CPU wait for it, to branch on a value. This is tested first, since a
        recording that fails keeps its memory until the process ends (torch 2.14)."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype", UserWarning)
            torch.cuda.set_sync_debug_mode("error")
        try:
            self._outputs = self._compute()
        except Exception as error:
            if _WAITS not in str(error):
                raise
            _log_slow(error)
            return True
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return False

    def _record_graph(self) -> torch.cuda.CUDAGraph | None:
        """Record the graph. Return None if the network does something else that a graph cannot hold."""
        graph, computing = torch.cuda.CUDAGraph(), self._lane.computing
        try:
            # Of this thread only: others register memory and copy at the same time. The stream is set twice, since a
            # recording that fails leaves it set (torch 2.14).
            with (
                torch.cuda.stream(computing),
                torch.cuda.graph(graph, stream=computing, capture_error_mode="thread_local"),
            ):
                self._outputs = self._compute()
        except Exception as error:
            if not isinstance(translate_error(error, 0, self._network.device), ModelFailed):
                raise
            _log_slow(error)
            return None
        return graph


def _log_slow(error: Exception) -> None:
    log.warning("no CUDA graph: the network runs kernel by kernel", extra={"reason": str(error).split("\n")[0]})


def _queue_copy(output: torch.Tensor) -> torch.Tensor:
    """Queue a copy to page-locked memory, and return it at once; it is filled when the device gets there."""
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

    def wait_for_scores(self) -> NDArray[np.float32]:
        """Wait for the scores and return a copy of them. It sleeps and does not spin: the cores belong to the decoders.
        Scores are held until their shard is written, and torch locks new pages for each batch unless it gets back those
        of the last."""
        with translate_errors(len(self._pixels), self._device):
            self._ended.synchronize()
        return self._scores.numpy().copy()

    def get_quality(self) -> NDArray[np.float32]:
        return compute_columns(self._sums.numpy(), make_lattice(*self._pixels.shape[1:3]))

    @property
    def seconds(self) -> float:
        return self._began.elapsed_time(self._ended) / 1000


@dataclass(frozen=True, slots=True)
class Lane:
    """The queue of a device that all its models share: they take turns, so that the time of each is its own."""

    copying: torch.cuda.Stream
    computing: torch.cuda.Stream
    #: For a thread that queues work. Work of other threads would become part of a graph that is being recorded, and
    #: would disturb the test whether a network waits. Waiting for scores queues nothing, and needs no lock.
    lock: threading.Lock


@cache
def get_lane(device: torch.device) -> Lane:
    return Lane(torch.cuda.Stream(device), torch.cuda.Stream(device), threading.Lock())
