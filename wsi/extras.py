"""Packages that only some models and commands need, by the extra of `tessera-wsi` that installs them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXTRAS: Mapping[str, str] = MappingProxyType(
    {
        "onnx": "onnx",
        "onnxruntime": "onnx",
        "safetensors": "models",
        "shapely": "evaluate",
        "timm": "models",
        "torch": "models",
        "torchvision": "models",
    }
)


def describe_missing_package(what: str, package: str) -> str:
    """Return the message that `what`, such as "This model", needs a package of `EXTRAS` that is not installed."""
    return f'{what} needs {package}, which is not installed here: pip install "tessera-wsi[{EXTRAS[package]}]".'
