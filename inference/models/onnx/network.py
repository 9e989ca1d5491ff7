"""Networks in ONNX, through ONNX Runtime: one session from pixels to the network's input, one for the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as states  # pyright: ignore[reportAttributeAccessIssue]

from inference.models.activations import apply_activation
from inference.models.card.own_words import describe_error
from inference.models.checks.network_check import check_shape, choose_trial_rows
from inference.models.onnx.graph import check_graph, find_last_step
from inference.models.onnx.input import make_input_graph
from wsi.errors import ModelError, ModelFailed, UnsuitableDevice
from wsi.models.package_files import ONNX, ONNX_DATA
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard, Resize
from wsi.slide.resample import resample_box, resize_as_pillow

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
#: Errors of ONNX Runtime. They have no class in common below Exception.
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


class OnnxNetwork:
    """A graph with one input and one output, on `device`."""

    def __init__(self, graph: Path | bytes, device: str) -> None:
        """Open a session. Raises ModelError for a graph that is damaged or has not one input and one float output, or a
        device that ONNX Runtime does not support here; UnsuitableDevice."""
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
        self._session = self._open_session(self._threads)
        self._input = _one(self._session.get_inputs(), "inputs").name
        output = _one(self._session.get_outputs(), "outputs")
        if output.type != "tensor(float)":
            hint = " It ends with an argmax: export it without." if "int" in output.type else ""
            raise ModelError(f"The network gives {output.type}; a model's output must be tensor(float).{hint}")

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The input's shape; None for a side that may have any length."""
        sides = self._session.get_inputs()[0].shape
        return tuple(side if isinstance(side, int) else None for side in sides)

    def run(self, value: NDArray[np.generic], threads: int) -> NDArray[np.float32]:
        """Return the output for `value`. Raises ModelError, and UnsuitableDevice without enough memory."""
        if threads != self._threads:
            self._session, self._threads = self._open_session(threads), threads
        try:
            return np.asarray(self._session.run(None, {self._input: value})[0])
        except _ERRORS as error:
            if any(words in str(error) for words in _NO_MEMORY):
                raise UnsuitableDevice("The network needs more memory than this machine has for its batch.") from error
            raise ModelFailed(
                f"The network broke off at a batch of shape {list(value.shape)}: {describe_error(error)}."
            ) from error

    def _open_session(self, threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.use_deterministic_compute = True
        options.log_severity_level = 4  # what goes wrong is raised
        # Threads that wait for the next batch would take the decoders' cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # The CPU computes what the GPU has no kernel for.
        providers = [(self._provider, self._options)]
        if self._provider != PROVIDERS["cpu"]:
            providers.append((PROVIDERS["cpu"], {}))
        try:
            session = onnxruntime.InferenceSession(self._graph, options, providers=providers)
        except _ERRORS as error:
            raise ModelError(
                f"The network is damaged, or made for a newer ONNX Runtime than {onnxruntime.__version__}."
            ) from error
        if session.get_providers()[0] != self._provider:  # it falls back to the CPU silently
            raise UnsuitableDevice("ONNX Runtime cannot use this machine's GPU: its driver or CUDA libraries differ.")
        return session


class OnnxModel:
    """A package's network: resize, normalise, forward, activation."""

    def __init__(self, card: ModelCard, package: Path, device: str) -> None:
        """Load the network and try it. Raises ModelError if it is damaged, refused or unfit, or the device is
        missing."""
        if card.precision != "fp32":
            raise ModelError(f"This worker runs ONNX in fp32; the card asks for {card.precision}.")
        self._card = card
        self._device = device
        self.last_step = find_last_step(check_graph(package / ONNX, ONNX_DATA))
        self._network = OnnxNetwork(package / ONNX, device)
        self._rows = _rows(self._network.shape, card)
        self._inputs: dict[tuple[int, int], OnnxNetwork] = {}
        self._normalised = _make_normaliser(card)
        self._try()

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return the scores [batch, columns] of tiles [batch, height, width, 3]. A network with a fixed batch runs
        several of its own, the last one padded with zeros. Raises ModelError for a precision other than fp32."""
        if numerics.precision != "fp32":
            raise ModelError(f"This worker runs ONNX in fp32; the plan asks for {numerics.precision}.")
        return apply_activation(self._compute_output(pixels, numerics.threads), self._card.activation)

    def compute_output(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output before the activation, [n, columns], of tiles [n, height, width, 3]."""
        return self._compute_output(pixels, 1)

    def _compute_output(self, pixels: NDArray[np.uint8], threads: int) -> NDArray[np.float32]:
        card = self._card
        if card.resize is not Resize.EXACT:
            pixels = resize_as_pillow(pixels, card.input_px, card.resize)
        if self._normalised is not None:
            pixels = self._normalised(_whole(pixels, card), threads)
        planes = self._input_for(*pixels.shape[1:3]).run(pixels, threads)
        rows = self._rows or len(planes)
        pieces = [self._logits(planes[start : start + rows], rows, threads) for start in range(0, len(planes), rows)]
        return np.concatenate(pieces)

    def _input_for(self, height: int, width: int) -> OnnxNetwork:
        if (height, width) not in self._inputs:
            self._inputs[height, width] = OnnxNetwork(make_input_graph(self._card, height, width), self._device)
        return self._inputs[height, width]

    def _logits(self, planes: NDArray[np.float32], rows: int, threads: int) -> NDArray[np.float32]:
        count = len(planes)
        if count < rows:
            planes = np.concatenate([planes, np.zeros((rows - count, *planes.shape[1:]), np.float32)])
        return self._network.run(planes, threads).reshape(rows, -1)[:count]

    def _try(self) -> None:
        """Run the network on zeros, so that an unfit one is found at loading and not in the third shard. There are
        several rows, since a network that gives one value for all of them fits no batch."""
        rows, side = self._rows or choose_trial_rows(self._card), self._card.input_px
        logits = self._network.run(np.zeros((rows, 3, side, side), np.float32), 1)
        check_shape(logits.shape, rows, self._card)


def _whole(pixels: NDArray[np.uint8], card: ModelCard) -> NDArray[np.uint8]:
    """Resize tiles [n, height, width, 3] to [n, input_px, input_px, 3], exactly, then round to whole grey values."""
    height, width = pixels.shape[1:3]
    if height == width == card.input_px:
        return pixels
    box = np.array((0, 0, width, height), np.float64)
    return np.stack([resample_box(tile, box, card.input_px, Resize.EXACT) for tile in pixels])


def _make_normaliser(card: ModelCard) -> Callable[[NDArray[np.uint8], int], NDArray[np.uint8]] | None:
    """Return a function that normalises the stains of tiles [n, height, width, 3] with a number of threads, on the CPU;
    None if the card states none. torch is loaded only if it does."""
    if card.stain_normalisation is None:
        return None
    import torch

    from inference.models.stains.normalisation import StainNormaliser

    normaliser = StainNormaliser(card.stain_normalisation, torch.device("cpu"))

    def normalise(pixels: NDArray[np.uint8], threads: int) -> NDArray[np.uint8]:
        torch.set_num_threads(threads)
        return normaliser(torch.from_numpy(np.ascontiguousarray(pixels))).numpy()

    return normalise


def _one(found: Sequence[onnxruntime.NodeArg], what: str) -> onnxruntime.NodeArg:
    if len(found) != 1:
        raise ModelError(f"The network has {len(found)} {what}; a model has one.")
    return found[0]


def _rows(shape: tuple[int | None, ...], card: ModelCard) -> int | None:
    """Return the rows of the network's own batch; None if it accepts any. Raises ModelError for another input than the
    card's, or a batch that does not divide the card's."""
    if len(shape) != 4 or any(
        side not in (None, wanted) for side, wanted in zip(shape[1:], (3, card.input_px, card.input_px), strict=True)
    ):
        sides = " x ".join("any" if side is None else str(side) for side in shape)
        raise ModelError(f"The network takes {sides}; its card asks for any x 3 x {card.input_px} x {card.input_px}.")
    rows = shape[0]
    if rows is not None and (rows < 1 or card.batch % rows):
        raise ModelError(f"The network takes batches of {rows} tiles, into which the card's {card.batch} do not part.")
    return rows
