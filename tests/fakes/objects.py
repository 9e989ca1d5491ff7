"""`wsi.ports.objects.Objects` in memory."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from wsi.errors import SourceMissing, SourceUnavailable


class MemoryObjects:
    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.media_types: dict[str, str] = {}

    def put(self, key: str, data: bytes, *, media_type: str = "application/octet-stream") -> None:
        self.held[key] = bytes(data)
        self.media_types[key] = media_type

    def put_file(self, key: str, path: Path, *, media_type: str) -> None:
        self.put(key, path.read_bytes(), media_type=media_type)

    def get(self, key: str) -> bytes:
        try:
            return self.held[key]
        except KeyError as error:
            raise SourceMissing("The object does not exist.") from error

    def delete_below(self, prefix: str) -> int:
        doomed = [key for key in self.held if key.startswith(prefix)]
        for key in doomed:
            del self.held[key]
            del self.media_types[key]
        return len(doomed)

    def presign_download(self, key: str, *, filename: str, seconds: int) -> str:
        return f"memory://objects/{key}?{urlencode({'filename': filename, 'seconds': seconds})}"


class KeepingObjects(MemoryObjects):
    """A bucket that deletes nothing for a while."""

    def delete_below(self, prefix: str) -> int:
        raise SourceUnavailable("The object store did not answer; try again in a minute.")
