"""Directories of a TIFF written again with fewer tags, in the place that they have. Source: TIFF 6.0, section 2,
BigTIFF, and `wsi.slide.tiff` for what NDPI makes of both."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from wsi.slide import tiff
from wsi.slide.tiff import Directory, Layout


@dataclass(frozen=True, slots=True)
class NewEntry:
    kind: int  #: type number
    count: int
    value: bytes  #: of the entry: the value itself, or its offset
    upper: int = 0  #: what an NDPI keeps behind the directory


@dataclass(frozen=True, slots=True)
class DirectoryWriter:
    layout: Layout

    @property
    def width(self) -> int:
        """Bytes of a value that fits into its entry."""
        return 8 if self.layout.big else 4

    def standing(self, directory: Directory, tag: int) -> NewEntry:
        """As it is; a value that lies elsewhere stays there."""
        entry = directory.entries[tag]
        size = tiff.size_of(entry.type, entry.count)
        if size > self.width:
            return self.elsewhere(entry.type, entry.count, entry.offset)
        value = directory.at(entry.offset, size).ljust(self.width, b"\0")
        return NewEntry(entry.type, entry.count, value, entry.upper)

    def inside(self, kind: int, count: int, data: bytes) -> NewEntry:
        """`data` is no longer than `width`."""
        return NewEntry(kind, count, data.ljust(self.width, b"\0"))

    def elsewhere(self, kind: int, count: int, offset: int) -> NewEntry:
        bits = 8 * self.width
        return NewEntry(kind, count, self.number(offset % 2**bits, self.width), offset >> bits)

    def room(self, directory: Directory) -> int:
        """How many tags fit in its place."""
        counter, entry = (8, 20) if self.layout.big else (2, 16 if self.layout.ndpi else 12)
        return (directory.place.size - counter - self.word_size) // entry

    def written(self, directory: Directory, entries: Mapping[int, NewEntry], following: int) -> bytes:
        """As long as it was: what it no longer needs is zeros. `following` is where the next one lies."""
        rows = sorted(entries.items())
        heads = struct.Struct(f"{self.layout.order}HH{'Q' if self.layout.big else 'I'}")
        body = b"".join(heads.pack(tag, entry.kind, entry.count) + entry.value for tag, entry in rows)
        uppers = b"".join(self.number(entry.upper, 4) for _, entry in rows) if self.layout.ndpi else b""
        counted = self.number(len(rows), 8 if self.layout.big else 2)
        return (counted + body + self.word(following) + uppers).ljust(directory.place.size, b"\0")

    @property
    def word_size(self) -> int:
        return 8 if self.layout.wide else 4

    def word(self, offset: int) -> bytes:
        """The offset of a directory."""
        return self.number(offset, self.word_size)

    def number(self, value: int, width: int) -> bytes:
        return value.to_bytes(width, "little" if self.layout.order == "<" else "big")
