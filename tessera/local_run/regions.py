"""Regions that a user has drawn, read from a file of GeoJSON as QuPath exports it: plain, gzipped or zipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.packed_json import read_packed_json
from wsi.errors import Invalid
from wsi.planning.region_geojson import MAX_BYTES, read_geojson
from wsi.records.outline import Frame, Outline

_REMEDY: Final = "export the annotations alone, without cells or tiles"


def read_region(path: Path, frame: Frame, *, on_note: Callable[[str], None]) -> Outline:
    """Read a region from a file of GeoJSON; `on_note` gets a sentence on each thing that was left out or changed.

    Raises UsageError.
    """
    value = read_packed_json(path, what="region", most_bytes=MAX_BYTES, remedy=_REMEDY)
    try:
        drawn = read_geojson(value, frame)
    except Invalid as error:
        raise UsageError(f"{path}: {error.sentence}") from error
    for note in drawn.notes:
        on_note(f"{path}: {note}")
    return drawn.outline
