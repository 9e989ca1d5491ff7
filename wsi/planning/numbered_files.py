"""The names of a slide's files in a plan: numbers. A plan is stored beside results and handed out with them, and names
of files often name patients. Most readers need no names; who needs them reads them from SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

#: Of the formats that are read. Another one may be a part of a name, "S11-4711.Smith".
_SUFFIXES: Final = frozenset(
    {
        *(".svs", ".tif", ".tiff", ".ndpi", ".scn", ".bif", ".svslide", ".qptiff", ".czi"),
        *(".mrxs", ".vms", ".vmu", ".dcm", ".dicom"),
    }
)
_NUMBER: Final = re.compile(r"\d{5}(\.[a-z]+)?")


def hide_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return a number for each name, with the suffix by which some readers know a format."""
    suffixes = (PurePosixPath(name).suffix.lower() for name in names)
    return tuple(f"{place:05d}{suffix if suffix in _SUFFIXES else ''}" for place, suffix in enumerate(suffixes))


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether all names are those that `hide_names` gives."""
    return all(_NUMBER.fullmatch(name) for name in names)
