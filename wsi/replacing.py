"""Replacement of files that other programs may have open."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

_ATTEMPTS: Final = 20
PAUSE_SECONDS: Final = 0.1


def replace_file(source: Path, target: Path, *, waits: bool = os.name == "nt", pause: float = PAUSE_SECONDS) -> None:
    """Rename the file over `target`. With `waits`, a refusal is tried again twenty times, after `pause` seconds each:
    Windows replaces no open file, and its search and virus scanners open each new one for a moment. Raises OSError."""
    for _ in range(_ATTEMPTS if waits else 0):
        try:
            source.replace(target)
        except PermissionError:
            time.sleep(pause)
        else:
            return
    source.replace(target)
