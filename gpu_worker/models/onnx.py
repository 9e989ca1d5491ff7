"""Networks in ONNX, through ONNX Runtime: one session from pixels to the network's input, one for the network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as states  # pyright: ignore[reportAttributeAccessIssue]

from gpu_worker.models.activations import activated
from gpu_worker.models.network_check import check_shape, rows_to_try
from gpu_worker.models.onnx_graph import check_graph, last_step
from gpu_worker.models.onnx_input import input_graph
from gpu_worker.models.own_words import own_words
from wsi.errors import ModelError, ModelFailed, UnsuitableDevice
from wsi.model_card import ModelCard, Resize
from wsi.plan import Numerics
from wsi.slide.resample import resize_as_pillow

GRAPH, DATA = "model.onnx", "model.onnx.data"
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
#: What ONNX Runtime raises. They have no class in common below Exception.
_ERRORS = (
    states.EPFail,
    states.Fail,
    states.InvalidArgument,
    states.InvalidGraph,
    states.InvalidProtobuf,
    states.NoModel,
    states.NoSuchFile,
    states.NotImplemented,
    states.RuntimeException,
)
_NO_MEMORY = ("Failed to allocate memory", "bad allocation", "out of memory", "CUDA failure 2")


class Network:
    """A graph with one input and one output, on `device`."""

    def __init__(self, graph: Path | bytes, device: str) -> None:
        """Raises ModelError for a graph that is damaged or takes or gives more, or a device that ONNX Runtime does not
        have here."""
        kind, _, number = device.partition(":")
        if kind not in PROVIDERS or not (number or "0").isdecimal():
            raise ModelError(f"There is no device {device!r} for ONNX: name cpu or cuda.")
        self._provider = PROVIDERS[kind]
        self._options = {"device_id": number} if number else {}
        if self._provider not in onnxruntime.get_available_providers():
            raise ModelError(
                "This machine's ONNX Runtime computes on the CPU only: run with device cpu, or install onnxruntime-gpu."
            )
        self._graph = graph if isinstance(graph, bytes) else str(graph)
        self._threads = 1
        self._session = self._opened(self._threads)
        self._input = _one(self._session.get_inputs(), "inputs").name
        output = _one(self._session.get_outputs(), "outputs")
        if output.type != "tensor(float)":
            hint = " It ends with an argmax: export it without." if "int" in output.type else ""
            raise ModelError(f"The network gives {output.type}; a model's output must be tensor(float).{hint}")

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Of the input; None for a side that may have any length."""
        sides = self._session.get_inputs()[0].shape
        return tuple(side if isinstance(side, int) else None for side in sides)

    def run(self, value: NDArray[np.generic], threads: int) -> NDArray[np.float32]:
        """Raises ModelError, and UnsuitableDevice without memory for it."""
        if threads != self._threads:
            self._session, self._threads = self._opened(threads), threads
        try:
            return np.asarray(self._session.run(None, {self._input: value})[0])
        except _ERRORS as error:
            if any(words in str(error) for words in _NO_MEMORY):
                raise UnsuitableDevice("The network needs more memory than this machine has for its batch.") from error
            raise ModelFailed(
                f"The network broke off at a batch of shape {list(value.shape)}: {own_words(error)}."
            ) from error

    def _opened(self, threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.use_deterministic_compute = True
        options.log_severity_level = 4  # what goes wrong is raised
        # Threads that wait for the next batch would take the decoders' cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # What the GPU has no kernel for is computed by the CPU.
        providers = [(self._provider, self._options)]
        if self._provider != PROVIDERS["cpu"]:
            providers.append((PROVIDERS["cpu"], {}))
        try:
            session = onnxruntime.InferenceSession(self._graph, options, providers=providers)
        except _ERRORS as error:
            raise ModelError(
                f"The network is damaged, or made for a newer ONNX Runtime than {onnxruntime.__version__}."
            ) from error
        if session.get_providers()[0] != self._provider:  # it falls back to the CPU without a word
            raise UnsuitableDevice("ONNX Runtime can not use this machine's GPU: its driver or CUDA libraries differ.")
        return session


class OnnxModel:
    """A package's network: resize, normalise, forward, activation."""

    def __init__(self, card: ModelCard, package: Path, device: str) -> None:
        """Raises ModelError for a damaged, refused or unfit network, or a device that is not there."""
        if card.precision != "fp32":
            raise ModelError(f"This worker runs ONNX in fp32; the card asks for {card.precision}.")
        self._card = card
        self._device = device
        self.last_step = last_step(check_graph(package / GRAPH, DATA))
        self._network = Network(package / GRAPH, device)
        self._rows = _rows(self._network.shape, card)
        self._inputs: dict[tuple[int, int], Network] = {}
        self._try()

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """[batch, height, width, 3] -> [batch, columns]. A network of a fixed batch gets several of its own, the last
        one filled up with zeros. Raises ModelError for a precision other than fp32."""
        if numerics.precision != "fp32":
            raise ModelError(f"This worker runs ONNX in fp32; the plan asks for {numerics.precision}.")
        return activated(self._output(pixels, numerics.threads), self._card.activation)

    def output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """[n, height, width, 3] -> [n, columns], before the activation."""
        return self._output(pixels, 1)

    def _output(self, pixels: NDArray[np.uint8], threads: int) -> NDArray[np.float32]:
        if self._card.resize is not Resize.EXACT:
            pixels = resize_as_pillow(pixels, self._card.input_px, self._card.resize)
        planes = self._input_for(*pixels.shape[1:3]).run(pixels, threads)
        rows = self._rows or len(planes)
        pieces = [self._logits(planes[start : start + rows], rows, threads) for start in range(0, len(planes), rows)]
        return np.concatenate(pieces)

    def _input_for(self, height: int, width: int) -> Network:
        if (height, width) not in self._inputs:
            self._inputs[height, width] = Network(input_graph(self._card, height, width), self._device)
        return self._inputs[height, width]

    def _logits(self, planes: NDArray[np.float32], rows: int, threads: int) -> NDArray[np.float32]:
        count = len(planes)
        if count < rows:
            planes = np.concatenate([planes, np.zeros((rows - count, *planes.shape[1:]), np.float32)])
        return self._network.run(planes, threads).reshape(rows, -1)[:count]

    def _try(self) -> None:
        """Zeros, so that an unfit network is found at loading and not in the third shard: several rows, since a network
        that answers with one value for all of them fits no batch."""
        rows, side = self._rows or rows_to_try(self._card), self._card.input_px
        logits = self._network.run(np.zeros((rows, 3, side, side), np.float32), 1)
        check_shape(logits.shape, rows, self._card)


def _one(found: Sequence[onnxruntime.NodeArg], what: str) -> onnxruntime.NodeArg:
    if len(found) != 1:
        raise ModelError(f"The network has {len(found)} {what}; a model has one.")
    return found[0]


def _rows(shape: tuple[int | None, ...], card: ModelCard) -> int | None:
    """Of the network's own batch; None where it takes any. Raises ModelError for another input than the card's."""
    if len(shape) != 4 or any(
        side not in (None, wanted) for side, wanted in zip(shape[1:], (3, card.input_px, card.input_px), strict=True)
    ):
        sides = " x ".join("any" if side is None else str(side) for side in shape)
        raise ModelError(f"The network takes {sides}; its card asks for any x 3 x {card.input_px} x {card.input_px}.")
    rows = shape[0]
    if rows is not None and (rows < 1 or card.batch % rows):
        raise ModelError(f"The network takes batches of {rows} tiles, into which the card's {card.batch} do not part.")
    return rows
