"""TorchScript networks: loading them, and refusing unsafe ones.

TorchScript is code, and three of its operations reach out of the network: aten::save and aten::from_file write and
read files, prim::PythonOp calls the interpreter. A network that holds one is refused, twice: by the source text in
the archive before it is loaded (`__setstate__` runs while loading), and by every graph before the first call.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from inference.models.execution.devices import prepare_device
from inference.models.execution.running import run_on
from inference.models.loaded import LoadedModel
from inference.models.wsinfer import MAX_UNPACKED
from wsi.errors import ModelError
from wsi.models.package_files import TORCHSCRIPT
from wsi.records.model_card import ModelCard

REFUSED = frozenset({"aten::save", "aten::from_file", "prim::PythonOp"})
#: The namespaces that hold the first two, in the archive's source (a PythonOp cannot be written into an archive at
#: all): not as part of a longer name.
_NAMESPACE = re.compile(rb"(?<![\w.])(?:torch|ops)\b")
#: A string as torch writes it: in double quotes, on one line, with a backslash before what is special. Messages of
#: torch's own code name functions of torch: those of nn.TransformerEncoder do.
_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
#: What torch's parser would read as a string and torch itself does not write.
_OTHER_STRINGS = re.compile(rb"""['"#]""")
#: How torch writes every use of them. Handwritten code could give them another name, or pass getattr a name that is
#: spelt in octal, and a search for "torch.save(" would find nothing.
_CALL = re.compile(rb"(?:torch|ops\.\w+)\.(\w+)\(")


def load_torchscript(card: ModelCard, package: Path, device: str) -> LoadedModel:
    """Load the network. Raises ModelError if it is damaged, refused or unfit, or the device is not there;
    UnsuitableDevice, DeviceLost."""
    chosen = prepare_device(device)
    _refuse_text(package / TORCHSCRIPT)
    network = _load(package / TORCHSCRIPT)
    refuse_graphs(network)
    return run_on(chosen, card, network)


def refuse_graphs(network: torch.jit.ScriptModule) -> None:
    """Raise ModelError if any method of the network, or of a module inside it, holds an operation of REFUSED, or a part
    is not TorchScript."""
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
    """Yield the kinds of all nodes of a graph or block, including nested blocks and subgraphs (fork, closures)."""
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
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > path.stat().st_size + MAX_UNPACKED:
                raise ModelError(
                    f"{TORCHSCRIPT} unpacks to {unpacked / 1024**3:,.1f} GiB, and torch packs no weights: it is "
                    "refused. Save the network again."
                )
            if archive.testzip() is not None:  # torch verifies no checksums: it would run with damaged weights
                raise ModelError(f"{TORCHSCRIPT} is damaged: copy or download it again.")
            for member in archive.infolist():  # not by name: of two members with one name torch may take the other
                if member.filename.endswith(".py"):
                    _refuse_source(archive.read(member))
    # What zipfile raises for archives that are damaged, encrypted or packed in a way that it does not know.
    except (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, EOFError) as error:
        raise ModelError(f"{TORCHSCRIPT} is not a TorchScript archive, or it is damaged.") from error


def _refuse_source(source: bytes) -> None:
    source = _STRING.sub(b"0", source)  # a number: of two adjacent strings it makes `00`, which is none
    if _OTHER_STRINGS.search(source):
        raise ModelError("The network's code was not written by torch alone: it is refused.")
    for use in _NAMESPACE.finditer(source):
        call = _CALL.match(source, use.start())
        if call is None:
            raise ModelError("The network's code was not written by torch alone: it is refused.")
        operation = f"aten::{call[1].decode()}"
        if operation in REFUSED:
            raise ModelError(f"The network calls {operation}, which no model needs: it is refused.")


def _load(path: Path) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        # torch 2.14 points to torch.export, which cannot read the zoo's packages.
        warnings.filterwarnings("ignore", r"`torch\.jit\.load` is deprecated", FutureWarning)
        try:
            return torch.jit.load(str(path), map_location="cpu")
        except RuntimeError as error:
            raise ModelError(
                f"{TORCHSCRIPT} is damaged, or made for a newer torch than {torch.__version__}."
            ) from error
