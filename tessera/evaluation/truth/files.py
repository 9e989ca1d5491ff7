"""Finds the truth of each slide: one file of outlines, a folder of them, or a table of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tessera.evaluation.truth.labels import UNNAMED, Corner, read_labels
from tessera.local_run.inputs import UsageError

_PACKED: Final = frozenset({".gz", ".zip"})
_OUTLINES: Final = frozenset({".geojson", ".json"})
_TABLE: Final = ".csv"


@dataclass(frozen=True, kw_only=True, slots=True)
class SlideTruth:
    """The truth of one slide: outlines, or labels of tiles, or a label of the slide."""

    source: Path  #: the file that states it
    outlines: Path | None = None
    tiles: Mapping[Corner, str] | None = None
    label: str | None = None


def find_truth(path: Path) -> Mapping[str, SlideTruth]:
    """Return the truth by the names of the slides as files and tables write them; UNNAMED: of the only slide. Raises
    UsageError."""
    if path.is_dir():
        return _search(path)
    if not path.exists():
        raise UsageError(f"{path} does not exist: name a file of GeoJSON, a folder of them, or a CSV of labels")
    if path.suffix.lower() == _TABLE:
        table = read_labels(path)
        if table.slides:
            return {name: SlideTruth(source=path, label=label) for name, label in table.slides.items()}
        return {name: SlideTruth(source=path, tiles=tiles) for name, tiles in table.tiles.items()}
    return {UNNAMED: SlideTruth(source=path, outlines=path)}


def _search(folder: Path) -> Mapping[str, SlideTruth]:
    found: dict[str, SlideTruth] = {}
    for file in sorted(folder.iterdir()):
        if not file.is_file() or file.name.startswith("."):
            continue
        bare = Path(file.stem) if file.suffix.lower() in _PACKED else Path(file.name)
        suffix = bare.suffix.lower()
        if suffix in _OUTLINES or (suffix != _TABLE and file.suffix.lower() == ".zip"):
            truth = SlideTruth(source=file, outlines=file)
        elif suffix == _TABLE:
            tiles = read_labels(file).tiles
            if set(tiles) != {UNNAMED}:
                raise UsageError(f"{file} names slides: give it as --truth alone, or remove its column slide")
            truth = SlideTruth(source=file, tiles=tiles[UNNAMED])
        else:
            continue
        name = bare.stem if suffix in _OUTLINES | {_TABLE} else bare.name
        if name in found:
            raise UsageError(f"{folder} holds two files for {name}: remove one of them")
        found[name] = truth
    if not found:
        raise UsageError(f"{folder} holds no file of GeoJSON and no CSV")
    if len({truth.tiles is None for truth in found.values()}) > 1:
        raise UsageError(f"{folder} holds outlines and labels of tiles: put each kind into a folder of its own")
    return found
