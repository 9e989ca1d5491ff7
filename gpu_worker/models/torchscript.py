"""TorchScript networks. The only module that imports torch.

TorchScript is code, and three of its operations reach out of the network: aten::save and aten::from_file write and
read files, prim::PythonOp calls the interpreter. A network that holds one is refused, twice: by the source text in
the archive before it is loaded (`__setstate__` runs while loading), and by every graph before the first call.
"""

from __future__ import annotations

import logging
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpu_worker.models.wsinfer import WEIGHTS
from wsi.errors import ModelError
from wsi.model_card import Activation, ModelCard
from wsi.plan import Numerics
from wsi.slide.resample import antialias_weights

log = logging.getLogger(__name__)

REFUSED = frozenset({"aten::save", "aten::from_file", "prim::PythonOp"})
#: The namespaces that hold the first two, in the archive's source (a PythonOp can not be written into an archive at
#: all): not as part of a longer name, nor at the beginning of a string.
_NAMESPACE = re.compile(rb"""(?<![\w."'])(?:torch|ops)\b""")
#: How torch writes every use of them. By hand they could be given another name, or asked by getattr for a name that is
#: spelt in octal, and a search for "torch.save(" would see nothing.
_CALL = re.compile(rb"(?:torch|ops\.\w+)\.(\w+)\(")

_ACTIVATIONS = {
    Activation.NONE: lambda logits: logits,
    Activation.SOFTMAX: lambda logits: torch.softmax(logits, dim=1),
    Activation.SIGMOID: torch.sigmoid,
}


class TorchScriptModel:
    """A network in fp32: resize, normalise, forward, activation, all on `device`."""

    def __init__(self, card: ModelCard, package: Path, device: str) -> None:
        """Raises ModelError for a damaged, refused or unfit network, or a device that is not there."""
        self._card = card
        self._device = _device(device)
        _refuse_text(package / WEIGHTS)
        network = _load(package / WEIGHTS)
        refuse_graphs(network)
        self._network = network.eval().to(self._device)
        self._mean = torch.tensor(card.mean, device=self._device).view(1, 3, 1, 1) * 255
        self._std = torch.tensor(card.std, device=self._device).view(1, 3, 1, 1) * 255
        self._weights: dict[int, torch.Tensor] = {}
        self._try()

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """[batch, height, width, 3] -> [batch, columns]. Raises ModelError for a precision other than fp32."""
        if numerics.precision != "fp32":
            raise ModelError(f"This worker runs TorchScript in fp32; the plan asks for {numerics.precision}.")
        torch.set_num_threads(numerics.threads)
        with _inference():
            logits = self._network(self._input(torch.from_numpy(pixels).to(self._device)))
            scores = _ACTIVATIONS[self._card.activation](logits.reshape(len(pixels), -1).float())
            return scores.cpu().numpy()

    def _input(self, pixels: torch.Tensor) -> torch.Tensor:
        planes = pixels.permute(0, 3, 1, 2).float()
        (height, width), target = planes.shape[-2:], self._card.input_px
        if height != target:
            planes = self._weights_for(height) @ planes
        if width != target:
            planes = planes @ self._weights_for(width).T
        return (planes - self._mean) / self._std

    def _weights_for(self, side: int) -> torch.Tensor:
        """[input_px, side] of the antialiased triangle filter, one product per axis."""
        if side not in self._weights:
            self._weights[side] = torch.from_numpy(antialias_weights(side, self._card.input_px)).to(self._device)
        return self._weights[side]

    def _try(self) -> None:
        """Zeros, so that an unfit network is found at loading and not in the third shard: two rows, since a network
        that was traced for one tile, or that answers with one value for all of them, fits no batch."""
        card, rows = self._card, 2
        with _inference():
            try:
                logits = self._network(torch.zeros(rows, 3, card.input_px, card.input_px, device=self._device))
            except RuntimeError as error:
                raise ModelError(f"The network does not take batches of RGB tiles of {card.input_px} px.") from error
        if not isinstance(logits, torch.Tensor) or logits.is_complex():
            found = "complex numbers" if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise ModelError(f"The network gives {found}; a model's output must be a tensor of real numbers.")
        if logits.numel() != rows * len(card.columns):
            found = f"{logits.numel() / rows:g} values"
            raise ModelError(f"The network gives {found} a tile; its card names {len(card.columns)} columns.")


@contextmanager
def _inference() -> Iterator[None]:
    """No gradients, and no profiling executor: that runs the first calls and the later ones as different kernels."""
    with torch.inference_mode(), torch.jit.optimized_execution(False):  # pyright: ignore[reportPrivateImportUsage]
        yield


def refuse_graphs(network: torch.jit.ScriptModule) -> None:
    """Raises ModelError when any method of the network or of a module inside it holds an operation of REFUSED."""
    for module in network.modules():
        script: Any = getattr(module, "_c", None)
        if script is None:
            raise ModelError("The network holds a part that is not TorchScript.")
        for name in script._method_names():
            # Inlined: functions that the method calls are part of its graph.
            found = REFUSED.intersection(_kinds(script._get_method(name).inlined_graph))
            if found:
                raise ModelError(f"The network holds {', '.join(sorted(found))}, which no model needs: it is refused.")


def _kinds(block: Any) -> Iterator[str]:
    """Kinds of all nodes of a graph or block, nested blocks and subgraphs (fork, closures) included."""
    for node in block.nodes():
        yield node.kind()
        for inner in node.blocks():
            yield from _kinds(inner)
        for name in node.attributeNames():
            if node.kindOf(name) == "g":
                yield from _kinds(node.g(name))
            elif node.kindOf(name) == "gs":
                for graph in node.gs(name):
                    yield from _kinds(graph)


def _refuse_text(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:  # torch checks no sums: it would run with the weights that are left
                raise ModelError(f"{WEIGHTS} is damaged: copy or download it again.")
            for member in archive.infolist():  # not by name: of two members with one name torch may take the other
                if member.filename.endswith(".py"):
                    _refuse_source(archive.read(member))
    # What zipfile raises for archives that are damaged, encrypted or packed in a way that it does not know.
    except (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, EOFError) as error:
        raise ModelError(f"{WEIGHTS} is not a TorchScript archive, or it is damaged.") from error


def _refuse_source(source: bytes) -> None:
    for use in _NAMESPACE.finditer(source):
        call = _CALL.match(source, use.start())
        if call is None:
            raise ModelError("The network's code was not written by torch alone: it is refused.")
        operation = f"aten::{call[1].decode()}"
        if operation in REFUSED:
            raise ModelError(f"The network calls {operation}, which no model needs: it is refused.")


def _load(path: Path) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        # torch 2.14 points to torch.export, which can not read the zoo's packages.
        warnings.filterwarnings("ignore", r"`torch\.jit\.load` is deprecated", FutureWarning)
        try:
            return torch.jit.load(str(path), map_location="cpu")
        except RuntimeError as error:
            raise ModelError(f"{WEIGHTS} is damaged, or made for a newer torch than {torch.__version__}.") from error


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ModelError(f"There is no device {name!r}: name cpu or cuda.") from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ModelError("This machine has no CUDA device that torch can use: run with device cpu.")
        # The same kernels in every run, and fp32 that is fp32: TF32 keeps 10 bits of 23.
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
    return device
