"""Names that programs give to a file while they write it. Such files are not inspected until they have their own."""

from __future__ import annotations

import re

#: browsers, Windows, FileZilla, WinSCP, curl and wget wrappers, rsync --partial-dir, Office and editors
_SUFFIXES = (".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".filepart", ".opdownload", ".aria2")
_RSYNC = re.compile(r"\..+\.[A-Za-z0-9]{6}")  #: ".slide.svs.Xy12Ab"


def is_temporary(name: str) -> bool:
    """Return whether a file or folder of this name is still being written. `name` holds no folder."""
    lowered = name.lower()
    return lowered.endswith(("~", *_SUFFIXES)) or lowered.startswith("~$") or _RSYNC.fullmatch(name) is not None
