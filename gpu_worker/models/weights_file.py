"""What a file of weights really is, by its first bytes: many are not what their name says."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from wsi.errors import ModelError

_LFS: Final = b"version https://git-lfs.github.com/spec/"
_PICKLE: Final = b"\x80"
_HEAD: Final = 64  #: bytes


def check_kind(path: Path) -> None:
    """Raises ModelError for a file that is named like weights and is a Git LFS pointer, a web page, or what
    `torch.save` writes of a state dict or a whole module."""
    with path.open("rb") as file:
        head = file.read(_HEAD).lstrip()
    if head.startswith(_LFS):
        raise ModelError(f"{path.name} is a Git LFS pointer and not the file itself: run `git lfs pull`.")
    if head[:15].lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ModelError(f"{path.name} is a web page: download the file itself.")
    if head.startswith(_PICKLE) or (path.suffix == ".pt" and _is_state(path)):
        raise ModelError(
            f"{path.name} is a pickle of weights, as torch.save writes it: `tessera models make` makes a package of it."
        )


def _is_state(path: Path) -> bool:
    """Return whether a zip archive is one of torch.save: TorchScript's holds code and constants as well."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.partition("/")[2] for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError):
        return False
    return "data.pkl" in names and "constants.pkl" not in names
