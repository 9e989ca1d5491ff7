"""Labels of slides or tiles in a CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.tables import read_rows

UNNAMED: Final = ""  #: the slide of a table without a column for it
_EXAMPLE: Final = "slide,label or slide,minx,miny,label"

Corner = tuple[int, int]  #: minx, miny of a tile in level-0 px, as in tiles.csv


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelTable:
    """Labels of one table; either of tiles or of slides."""

    slides: Mapping[str, str]  #: by the slide's name as written
    tiles: Mapping[str, Mapping[Corner, str]]  #: by the slide's name as written, or UNNAMED


def read_labels(path: Path) -> LabelTable:
    """Read the columns slide and label; with minx and miny the labels are of tiles. Raises UsageError."""
    slides: dict[str, str] = {}
    tiles: dict[str, dict[Corner, str]] = {}
    for line, row in read_rows(path, "label", _EXAMPLE):
        name, label = row.get("slide", UNNAMED), row["label"]
        if not label:
            raise UsageError(f"{path}, line {line}: the label is missing")
        if "slide" in row and not name:
            raise UsageError(f"{path}, line {line}: the name of the slide is missing")
        if "minx" in row and "miny" in row:
            corner = _read_corner(row["minx"], row["miny"], path, line)
            known = tiles.setdefault(name, {}).setdefault(corner, label)
        elif "slide" in row:
            known = slides.setdefault(name, label)
        else:
            raise UsageError(f"{path} has no column named slide; its first line must be: {_EXAMPLE}")
        if known != label:
            raise UsageError(f"{path}, line {line}: the label is {label}, and a line before says {known}")
    if not slides and not tiles:
        raise UsageError(f"{path} holds no label")
    return LabelTable(slides=slides, tiles=tiles)


def _read_corner(minx: str, miny: str, path: Path, line: int) -> Corner:
    try:
        x, y = float(minx), float(miny)
        if x == int(x) and y == int(y):
            return int(x), int(y)
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{path}, line {line}: minx and miny must be whole numbers, as in tiles.csv")
