"""Weights of a `.pt2` file, as torch.export writes it: a zip archive of raw numbers with a list of their shapes.

`torch.export.load` is not called: it reads sample inputs, constants and marked weights as pickles, which run code.
https://docs.pytorch.org/docs/stable/export/pt2_archive.html
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from zipfile import BadZipFile

import torch

from inference.models.card.own_words import describe_error
from wsi.errors import ModelError

_LIST: Final = "data/weights/model_weights_config.json"
_FOLDER: Final = "data/weights/"
_MOST: Final = 64 * 1024**2  #: bytes of the list
#: What zipfile, json and torch raise for an archive that is damaged or says what cannot be.
_DAMAGED: Final = (BadZipFile, zlib.error, OSError, EOFError, LookupError, TypeError, ValueError, RuntimeError)
#: torch._export.serde.schema.ScalarType
_TYPES: Final[Mapping[int, torch.dtype]] = MappingProxyType(
    {
        1: torch.uint8,
        2: torch.int8,
        3: torch.int16,
        4: torch.int32,
        5: torch.int64,
        6: torch.float16,
        7: torch.float32,
        8: torch.float64,
        12: torch.bool,
        13: torch.bfloat16,
    }
)


def read_exported(path: Path) -> dict[str, torch.Tensor]:
    """Return the state dict. Raises ModelError."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.partition("/")[2]: name for name in archive.namelist()}
            if _LIST not in names:
                raise ModelError(
                    f"{path.name} holds no list of weights: export it again with torch.export.save of torch 2.8 or "
                    "newer, or save its state_dict as safetensors."
                )
            if archive.getinfo(names[_LIST]).file_size > _MOST:
                raise ModelError(f"{path.name} lists more weights than a network has.")
            listed = json.loads(archive.read(names[_LIST]))["config"]
            files: dict[str, bytearray] = {}
            return {name: _tensor(archive, names, files, entry, path.name) for name, entry in listed.items()}
    except ModelError:
        raise
    except _DAMAGED as error:
        raise ModelError(f"{path.name} is damaged or no file of torch.export: {describe_error(error)}.") from error


def _tensor(
    archive: zipfile.ZipFile, names: Mapping[str, str], files: dict[str, bytearray], entry: Mapping[str, Any], name: str
) -> torch.Tensor:
    """Return one tensor; several may share the bytes of a file, which `files` keeps."""
    if entry["use_pickle"]:
        raise ModelError(
            f"{name} holds a weight as a pickle, which could run code: save its state_dict as safetensors."
        )
    meta, file = entry["tensor_meta"], entry["path_name"]
    if file not in files:
        files[file] = bytearray(archive.read(names[f"{_FOLDER}{file}"]))
    flat = torch.frombuffer(files[file], dtype=_TYPES[meta["dtype"]])
    return torch.as_strided(flat, _numbers(meta["sizes"]), _numbers(meta["strides"]), meta["storage_offset"]["as_int"])


def _numbers(values: list[Mapping[str, int]]) -> list[int]:
    return [value["as_int"] for value in values]
