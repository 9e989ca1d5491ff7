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
#: In the folder of a MIRAX slide: the same names for every slide, by which its files refer to each other.
_MIRAX_PARTS: Final = re.compile(r"Slidedat\.ini|(Data|Index)\d{0,5}\.dat")


def hide_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return a number for each name, with the suffix by which some readers know a format. A MIRAX slide keeps its
    folder, under the number, and the format's own names in it: so it can be opened without its names."""
    hidden = [f"{place:05d}{_keep_suffix(name)}" for place, name in enumerate(names)]
    for place, name in enumerate(names):
        path = PurePosixPath(name)
        if path.suffix.lower() != ".mrxs":
            continue
        folder = f"{path.with_suffix('')}/"
        parts = {n: other.removeprefix(folder) for n, other in enumerate(names) if other.startswith(folder)}
        if all(_MIRAX_PARTS.fullmatch(part) for part in parts.values()):
            for n, part in parts.items():
                hidden[n] = f"{place:05d}/{part}"
    return tuple(hidden)


def _keep_suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in _SUFFIXES else ""


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether all names are numbers, so that no file can refer to another one by them."""
    return all(_NUMBER.fullmatch(name) for name in names)
