"""The items that packed frames are kept in. Source: DICOM PS3.5, A.4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from wsi.errors import TileUnreadable

_ITEM: Final = bytes.fromhex("feff00e0")
_END: Final = bytes.fromhex("feffdde0")


def unwrap_items(pieces: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return what the items in `pieces` hold, joined. Tables of offsets tell where a frame's items begin and end, but
    not how many they are; an item's header left inside a JPEG decodes to wrong pixels without an error. Raises
    TileUnreadable."""
    return (b"".join(fragment for piece in pieces for fragment in _fragments(piece)),)


def _fragments(piece: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(piece) and piece[at : at + 4] != _END:
        if piece[at : at + 4] != _ITEM:
            raise TileUnreadable("something else than a frame lies at its place in the file")
        start = at + 8
        at = start + int.from_bytes(piece[at + 4 : start], "little")
        if at > len(piece) + 1:  # Lengths of extended tables leave out the byte that makes an item even.
            raise TileUnreadable("the file cuts it into parts that reach beyond it")
        yield piece[start:at]
