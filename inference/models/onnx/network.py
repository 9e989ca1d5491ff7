"""Networks in ONNX, through ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as states  # pyright: ignore[reportAttributeAccessIssue]

from inference.models.card.own_words import describe_error
from wsi.errors import ModelError, ModelFailed, UnsuitableDevice

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


def _one(found: Sequence[onnxruntime.NodeArg], what: str) -> onnxruntime.NodeArg:
    if len(found) != 1:
        raise ModelError(f"The network has {len(found)} {what}; a model has one.")
    return found[0]
