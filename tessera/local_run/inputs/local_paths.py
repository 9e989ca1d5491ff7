"""Paths on this disk with slashes, which Windows takes too, and names of folders that the system takes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

WINDOWS: Final = os.name == "nt"
_DRIVE: Final = re.compile(r"[A-Za-z]:")
#: What Windows allows in no name: https://learn.microsoft.com/windows/win32/fileio/naming-a-file.
_REFUSED: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
#: Devices, whatever suffix follows: `aux.2024` is one too.
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE)
_LONGEST: Final = 259  #: characters of a path that Windows takes without a prefix
_BELOW: Final = 60  #: characters of the longest path below a slide's folder: ".tessera-partial/results/…"


def with_slashes(path: str, *, windows: bool = WINDOWS) -> str:
    r"""Return the path with slashes: "C:/slides/a.svs" for "C:\slides\a.svs". A backslash is part of a name where it
    separates none."""
    return path.replace("\\", "/") if windows else path


def resolve_path(path: str | Path) -> str:
    """Return the path behind all links, with slashes."""
    return with_slashes(os.path.realpath(path))


def strip_slash(path: str, *, windows: bool = WINDOWS) -> str:
    """Return the folder's path without a slash at its end, but for that of a root: "C:" would be the drive's current
    folder."""
    bare = path.rstrip("/")
    return f"{bare}/" if not bare or (windows and _DRIVE.fullmatch(bare)) else bare


def make_folder_name(name: str, *, windows: bool = WINDOWS) -> str:
    """Return a name for a folder that the system takes. Windows has names of devices ("aux"), refuses some characters,
    and drops dots and spaces at the end."""
    if not windows:
        return name
    taken = _REFUSED.sub("_", name).rstrip(" .") or "_"
    return f"_{taken}" if _DEVICE.fullmatch(taken) else taken


def make_reachable(folder: Path, longest_name: int, *, windows: bool = WINDOWS) -> Path:
    """Return the folder by a path under which files in a folder of `longest_name` characters can be written. Windows
    accepts long paths with a prefix only."""
    path = str(folder.absolute())
    if not windows or path.startswith("\\\\?\\") or len(path) + longest_name + _BELOW <= _LONGEST:
        return folder
    path = path.replace("/", "\\")
    return Path(f"\\\\?\\UNC\\{path[2:]}" if path.startswith("\\\\") else f"\\\\?\\{path}")
