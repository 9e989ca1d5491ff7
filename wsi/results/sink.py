"""Destinations of result files. A reader sees a whole file or none: temp name first, then one atomic step."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol
from uuid import uuid4

from wsi.ports.objects import Objects
from wsi.records.results import ResultFile
from wsi.replacing import replace_file

Writer = Callable[[IO[bytes]], None]  #: writes a whole file; it may seek


class ResultSink(Protocol):
    def write(self, name: str, media_type: str, writer: Writer) -> ResultFile:
        """Publish the output of `writer` under `name`, replacing an older file of that name. Publish nothing if it
        raises."""
        ...


class FolderSink:
    """Files in a folder of this disk, which is created if it is missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, media_type: str, writer: Writer) -> ResultFile:
        self._folder.mkdir(parents=True, exist_ok=True)
        # Beside its target: a rename is atomic only within one file system.
        path = self._folder / f".{name}.{uuid4().hex}"
        try:
            with path.open("x+b") as file:
                writer(file)
                result = _result(file, name=name, key=name, media_type=media_type)
                os.fsync(file.fileno())
            replace_file(path, self._folder / name)
        finally:
            path.unlink(missing_ok=True)
        return result


class ObjectSink:
    """Objects below a prefix, written through a temporary file: the parts of an upload must be known before it
    begins."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        self._objects = objects
        self._prefix = prefix

    def write(self, name: str, media_type: str, writer: Writer) -> ResultFile:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            with path.open("w+b") as file:
                writer(file)
                result = _result(file, name=name, key=f"{self._prefix}{name}", media_type=media_type)
            self._objects.put_file(result.key, path, media_type=media_type)
        return result


def _result(file: IO[bytes], *, name: str, key: str, media_type: str) -> ResultFile:
    file.flush()
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return ResultFile(name=name, key=key, size=file.tell(), sha256=digest.hexdigest(), media_type=media_type)
