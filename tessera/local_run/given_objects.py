"""Objects that a user gives, read from a file of GeoJSON (plain, gzipped or zipped) or GeoParquet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tessera.local_run.inputs import UsageError
from tessera.local_run.inputs.packed_json import read_packed
from wsi.errors import Invalid
from wsi.records.outline import Frame

if TYPE_CHECKING:
    from wsi.given.objects import GivenObjects

MAX_BYTES: Final = 4 * 1024**3  #: unpacked: 1,000,000 cells of 60 points with 20 measurements each
_REMEDY: Final = "export the objects without measurements, or by regions"


def read_given_objects(path: Path, frame: Frame, *, on_note: Callable[[str], None]) -> GivenObjects:
    """Read the objects of a file; `on_note` gets a sentence on each thing that was left out or split. Raises
    UsageError."""
    from wsi.given.reading import read_objects  # here, since commands that take none need no numpy

    data = read_packed(path, what="file of objects", most_bytes=MAX_BYTES, remedy=_REMEDY)
    try:
        objects = read_objects(data, frame)
    except Invalid as error:
        raise UsageError(f"{path}: {error.sentence}") from error
    for note in objects.notes:
        on_note(f"{path}: {note}")
    return objects
