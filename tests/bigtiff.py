"""Directories of a BigTIFF, packed here since no library's writer lets two tiles share their bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

HEAD: Final = struct.pack("<2sHHHQ", b"II", 43, 8, 0, 0)
FIRST_LINK: Final = 8  #: where the place of the first directory is noted
_TYPES: Final = {"ascii": (2, "s"), "short": (3, "H"), "long": (4, "I"), "bytes": (7, "s"), "long8": (16, "Q")}


def write_directory(data: bytearray, link: int, fields: Iterable[tuple[int, str, list[int] | bytes]]) -> int:
    """Appends the directory and the values that do not fit into it; `link` is where its place is noted. The place of
    the next link."""
    entries: list[bytes] = []
    for tag, kind, values in fields:
        number, letter = _TYPES[kind]
        packed = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{letter}", *values)
        if len(packed) > 8:
            data += bytes(-len(data) % 8)
            data += packed
            packed = struct.pack("<Q", len(data) - len(packed))
        entries.append(struct.pack("<HHQ8s", tag, number, len(values), packed))
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, link, len(data))
    data += struct.pack("<Q", len(entries)) + b"".join(entries) + bytes(8)
    return len(data) - 8
