"""JSON of other programs from a file that may be gzipped, as tiles.geojson.gz is, or zipped, as QuPath offers."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

from tessera.local_run.inputs.slide_input import UsageError
from wsi.plain_faults import describe_json_error

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"


def read_packed_json(path: Path, *, what: str, most_bytes: int, remedy: str) -> Any:
    """Return the JSON, in UTF-8, UTF-16 or UTF-32; NaN and Infinity are among QuPath's measurements. `what` names the
    file in messages ("region"), `remedy` says what to do with one of more than `most_bytes`, packed or unpacked. Raises
    UsageError."""
    try:
        return json.loads(read_packed(path, what=what, most_bytes=most_bytes, remedy=remedy))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The {what} {path} is not JSON: {describe_json_error(error)}. Export it as GeoJSON"
        ) from error


def read_packed(path: Path, *, what: str, most_bytes: int, remedy: str) -> bytes:
    """Return the bytes of a file that may be packed. Raises UsageError."""
    opened = _PackedFile(path, what, most_bytes, remedy)
    return opened.unpack(opened.read_all())


class _PackedFile:
    def __init__(self, path: Path, what: str, most_bytes: int, remedy: str) -> None:
        self._path, self._what, self._most_bytes, self._remedy = path, what, most_bytes, remedy

    def read_all(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                return self._read_bounded(file)
        except OSError as error:
            raise UsageError(f"The {self._what} {self._path} cannot be read: {error.strerror}") from error

    def unpack(self, data: bytes) -> bytes:
        try:
            if data.startswith(_GZIP):
                return self._read_bounded(gzip.GzipFile(fileobj=io.BytesIO(data)))
            if data.startswith(_ZIP):
                return self._read_only_member(data)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise UsageError(
                f"The {self._what} {self._path} is packed and cannot be unpacked: export it again"
            ) from error
        return data

    def _read_only_member(self, data: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if Path(name).suffix.lower() in (".geojson", ".json")]
            if len(names) != 1:
                raise UsageError(f"The archive {self._path} must hold one file of GeoJSON; it holds {len(names)}")
            with archive.open(names[0]) as member:
                return self._read_bounded(member)

    def _read_bounded(self, file: Any) -> bytes:
        data: bytes = file.read(self._most_bytes + 1)
        if len(data) > self._most_bytes:
            raise UsageError(
                f"The {self._what} {self._path} is larger than {self._most_bytes // 1024**2} MiB: {self._remedy}"
            )
        return data
