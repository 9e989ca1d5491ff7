"""Recognises a file of weights by its first bytes: many are not what their name says."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from wsi.errors import ModelError

#: How names of weights end, as people publish them, and that of a list of several files.
SUFFIXES: Final = (".safetensors", ".bin", ".pth", ".pt", ".ckpt", ".pt2", ".onnx")
INDEX: Final = ".index.json"
_LFS: Final = b"version https://git-lfs.github.com/spec/"
_PICKLE: Final = b"\x80"
_HEAD: Final = 64  #: bytes


def check_kind(path: Path) -> None:
    """Raise ModelError if a file that is named like weights is a Git LFS pointer, a web page, or what `torch.save`
    writes of a state dict or a whole module."""
    with path.open("rb") as file:
        first = file.read(_HEAD)
    head = first.lstrip()
    if head.startswith(_LFS):
        raise ModelError(f"{path.name} is a Git LFS pointer and not the file itself: run `git lfs pull`.")
    if head[:15].lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ModelError(f"{path.name} is a web page: download the file itself.")
    # A safetensors file begins with the length of its JSON, in eight bytes, of which the first may be a pickle's.
    is_pickle = first.startswith(_PICKLE) and first[8:9] != b"{"
    if is_pickle or (path.suffix == ".pt" and _is_state(path)):
        raise ModelError(
            f"{path.name} is a pickle of weights, as torch.save writes it: `tessera models make` makes a package of it."
        )


def is_torchscript(path: Path) -> bool:
    """Return whether a file is an archive with code and constants, as torch.jit writes it."""
    return "constants.pkl" in _members(path)


def _is_state(path: Path) -> bool:
    members = _members(path)
    return "data.pkl" in members and "constants.pkl" not in members


def _members(path: Path) -> frozenset[str]:
    """Return the names in an archive of torch, without the archive's own name; none for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(name.partition("/")[2] for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return frozenset()
