"""Directories of a TIFF, rewritten in their places with fewer tags. Source: TIFF 6.0, section 2, BigTIFF, and
`wsi.slide.tiff` for what NDPI makes of both."""

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

    def copy_entry(self, directory: Directory, tag: int) -> NewEntry:
        """Return the tag's entry as it is; a value outside of the entry keeps its place."""
        entry = directory.entries[tag]
        size = tiff.compute_size(entry.type, entry.count)
        if size > self.width:
            return self.make_offset_entry(entry.type, entry.count, entry.offset)
        value = directory.read_at(entry.offset, size).ljust(self.width, b"\0")
        return NewEntry(entry.type, entry.count, value, entry.upper)

    def make_inline_entry(self, kind: int, count: int, data: bytes) -> NewEntry:
        """Return an entry that holds `data`, which is at most `width` bytes."""
        return NewEntry(kind, count, data.ljust(self.width, b"\0"))

    def make_offset_entry(self, kind: int, count: int, offset: int) -> NewEntry:
        bits = 8 * self.width
        return NewEntry(kind, count, self.encode_number(offset % 2**bits, self.width), offset >> bits)

    def count_fitting_tags(self, directory: Directory) -> int:
        """Return the number of tags that fit in the directory's original space."""
        counter, entry = (8, 20) if self.layout.big else (2, 16 if self.layout.ndpi else 12)
        return (directory.place.size - counter - self.word_size) // entry

    def encode(self, directory: Directory, entries: Mapping[int, NewEntry], following: int) -> bytes:
        """Return the directory's new bytes, as many as before: zeros fill what it no longer needs. `following` is the
        offset of the next directory."""
        rows = sorted(entries.items())
        heads = struct.Struct(f"{self.layout.order}HH{'Q' if self.layout.big else 'I'}")
        body = b"".join(heads.pack(tag, entry.kind, entry.count) + entry.value for tag, entry in rows)
        uppers = b"".join(self.encode_number(entry.upper, 4) for _, entry in rows) if self.layout.ndpi else b""
        counted = self.encode_number(len(rows), 8 if self.layout.big else 2)
        return (counted + body + self.encode_offset(following) + uppers).ljust(directory.place.size, b"\0")

    @property
    def word_size(self) -> int:
        return 8 if self.layout.wide else 4

    def encode_offset(self, offset: int) -> bytes:
        """Return a directory's offset as bytes."""
        return self.encode_number(offset, self.word_size)

    def encode_number(self, value: int, width: int) -> bytes:
        return value.to_bytes(width, "little" if self.layout.order == "<" else "big")
