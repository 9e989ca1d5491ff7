"""Bytes by range: the port and the local file. `coalescing` decides which ranges to read."""

from __future__ import annotations

import os
import stat
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from wsi.errors import SourceChanged, SourceError, SourceMissing, SourceTruncated

#: Bytes as a client library holds them: to copy megabytes costs a fresh page for every four kilobytes.
Data = bytes | memoryview

#: Without waiting: a named pipe would block its reader until somebody writes. Windows has no such flag, and reads text
#: unless the binary flag is set.
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_SEEKING: Final = threading.Lock()


@dataclass(frozen=True, slots=True, order=True)
class ByteRange:
    start: int  #: inclusive
    end: int  #: exclusive

    @property
    def size(self) -> int:
        return self.end - self.start


class RangeSource(Protocol):
    """One immutable object that is read by ranges. Errors: SourceTruncated, SourceChanged, SourceUnavailable."""

    @property
    def size(self) -> int: ...

    @property
    def etag(self) -> str: ...

    def read(self, byte_range: ByteRange) -> bytes:
        """Return exactly `byte_range.size` bytes, or raise an error."""
        ...

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        """Return the bytes of each range, in the order requested; implementations fetch several at a time."""
        ...


class FileSource:
    """A file on this disk. The ETag is size and mtime; every read checks that they are unchanged, so that a file that
    is overwritten while it is read gives no mixed result."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, _READ)
        except OSError as error:
            raise SourceMissing("The file does not exist or cannot be opened.") from error
        #: Closes once: by `close`, or when the last user drops the source.
        self._close = weakref.finalize(self, os.close, self._descriptor)
        facts = os.fstat(self._descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise SourceMissing("The path is not a file.")
        self._size = facts.st_size
        self._etag = _etag(facts)

    @property
    def size(self) -> int:
        return self._size

    @property
    def etag(self) -> str:
        return self._etag

    def read(self, byte_range: ByteRange) -> bytes:
        try:
            data = _pread(self._descriptor, byte_range.size, byte_range.start)
            facts = os.fstat(self._descriptor)
        except OSError as error:  # a disk that fails, a network mount that went away
            raise SourceError(f"The slide's file cannot be read: {error.strerror}.") from error
        if _etag(facts) != self._etag:
            raise SourceChanged("The slide's file was changed while it was read: start again when it is complete.")
        if len(data) != byte_range.size:
            raise SourceTruncated(f"The file ends at byte {byte_range.start + len(data)}, before {byte_range.end}.")
        return data

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        return map(self.read, ranges)

    def close(self) -> None:
        self._close()


def _pread(descriptor: int, size: int, start: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, start)
    with _SEEKING:  # Windows has one position a descriptor, and several threads read
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.read(descriptor, size)


def _etag(facts: os.stat_result) -> str:
    return f"{facts.st_size:x}-{facts.st_mtime_ns:x}"
