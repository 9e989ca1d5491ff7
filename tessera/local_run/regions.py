"""Regions that a user has drawn, read from a file of GeoJSON as QuPath exports it: plain, gzipped or zipped."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tessera.local_run.inputs import UsageError
from wsi.errors import Invalid
from wsi.plain_faults import describe_json_error
from wsi.planning.region_geojson import MAX_BYTES, read_geojson
from wsi.records.outline import Frame, Outline

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
_TOO_LARGE: Final = f"is larger than {MAX_BYTES // 1024**2} MiB: export the annotations alone, without cells or tiles"


def read_region(path: Path, frame: Frame, *, on_note: Callable[[str], None]) -> Outline:
    """Read a region from a file of GeoJSON; `on_note` gets a sentence on each thing that was left out or changed.

    Raises UsageError.
    """
    data = _unpack(_file(path), path)
    try:
        drawn = read_geojson(_json(data, path), frame)
    except Invalid as error:
        raise UsageError(f"{path}: {error.sentence}") from error
    for note in drawn.notes:
        on_note(f"{path}: {note}")
    return drawn.outline


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return _read_bounded(file, path)
    except OSError as error:
        raise UsageError(f"The region {path} cannot be read: {error.strerror}") from error


def _unpack(data: bytes, path: Path) -> bytes:
    """Return the text of a file that may be gzipped, as tiles.geojson.gz is, or zipped, as QuPath offers."""
    try:
        if data.startswith(_GZIP):
            return _read_bounded(gzip.GzipFile(fileobj=io.BytesIO(data)), path)
        if data.startswith(_ZIP):
            return _only_member(data, path)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"The region {path} is packed and cannot be unpacked: export it again") from error
    return data


def _only_member(data: bytes, path: Path) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if Path(name).suffix.lower() in (".geojson", ".json")]
        if len(names) != 1:
            raise UsageError(f"The archive {path} must hold one file of GeoJSON; it holds {len(names)}")
        with archive.open(names[0]) as member:
            return _read_bounded(member, path)


def _read_bounded(file: Any, path: Path) -> bytes:
    data: bytes = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"The region {path} {_TOO_LARGE}")
    return data


def _json(data: bytes, path: Path) -> Any:
    """Read JSON in UTF-8, UTF-16 or UTF-32; NaN and Infinity are among QuPath's measurements."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The region {path} is not JSON: {describe_json_error(error)}. Export it as GeoJSON"
        ) from error
