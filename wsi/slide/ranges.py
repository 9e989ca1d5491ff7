"""Bytes by range: the port and the local file. `coalescing` decides which ranges to read."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wsi.errors import SourceChanged, SourceError, SourceMissing, SourceTruncated

#: Bytes as a client library holds them: to copy megabytes costs a fresh page for every four kilobytes.
Data = bytes | memoryview


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
        """Exactly `byte_range.size` bytes, or an error."""
        ...

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        """The bytes of each range, in the order asked for; implementations fetch several at a time."""
        ...


class FileSource:
    """A file on this disk. The ETag is size and mtime; every read looks whether they still hold, so that a file that is
    written over while it is read gives no mixed result."""

    def __init__(self, path: Path) -> None:
        try:
            # Without waiting: a named pipe would keep its reader until somebody writes.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise SourceMissing("The file does not exist or can not be opened.") from error
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
            data = os.pread(self._descriptor, byte_range.size, byte_range.start)
            facts = os.fstat(self._descriptor)
        except OSError as error:  # a disk that fails, a network mount that went away
            raise SourceError(f"The slide's file can not be read: {error.strerror}.") from error
        if _etag(facts) != self._etag:
            raise SourceChanged("The slide's file was changed while it was read: start again when it is complete.")
        if len(data) != byte_range.size:
            raise SourceTruncated(f"The file ends at byte {byte_range.start + len(data)}, before {byte_range.end}.")
        return data

    def read_many(self, ranges: Sequence[ByteRange]) -> Iterator[Data]:
        return map(self.read, ranges)

    def close(self) -> None:
        self._close()


def _etag(facts: os.stat_result) -> str:
    return f"{facts.st_size:x}-{facts.st_mtime_ns:x}"
