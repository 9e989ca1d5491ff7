"""The names of all files that a model package may hold. `inference.models.package` says which go together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

CONFIG = "config.json"  #: WSInfer's
CARD = "card.json"
GOLDEN = "golden.npz"
TORCHSCRIPT = "torchscript_model.pt"
SAFETENSORS = "model.safetensors"
ONNX = "model.onnx"
ONNX_DATA = "model.onnx.data"  #: weights of an ONNX graph that passes the 2 GiB of one file

#: Others are neither sent nor fetched, whatever a card says.
PACKAGE_FILES = frozenset({CONFIG, CARD, GOLDEN, TORCHSCRIPT, SAFETENSORS, ONNX, ONNX_DATA})


def compute_files_digest(sha256: Mapping[str, str]) -> str:
    """Return the hex sha256 of files, given as hex sha256 by name: what `sha256sum FILE... | sha256sum` prints."""
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sha256.items()).encode()).hexdigest()
