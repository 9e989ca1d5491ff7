"""The parts of a JPEG header that decoding does not need: comments, EXIF, and segments of applications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wsi.slide.codecs import jpeg

#: Frames and tables of Huffman and arithmetic coding; scan, quantisation, lines, restarts, hierarchy (T.81, table B.1).
_DECODING: Final = frozenset({*range(0xC0, 0xD0), *range(0xDA, 0xE0)})
#: Segments that decoders read: what they begin with, and their bytes. Behind a JFIF header may be a thumbnail.
_KNOWN: Final = {0xE0: (b"JFIF\0", 14), 0xEE: (b"Adobe", 12)}


def locate_comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each comment, without marker and length, in a JPEG or in tables alone. Raises
    TileUnreadable."""
    for marker, start, end in jpeg.read_segments(data):
        if marker in _DECODING:
            continue
        name, size = _KNOWN.get(marker, (b"", 0))
        if name and data.startswith(name, start + 4):
            if end > start + 4 + size:
                yield start + 4 + size, end
        else:
            yield start + 4, end


def blank_comments(data: bytes) -> bytes:
    """Return the JPEG with its comments overwritten by zeros. Raises TileUnreadable."""
    blanked = bytearray(data)
    for start, end in locate_comments(data):
        blanked[start:end] = bytes(end - start)
    return bytes(blanked)
