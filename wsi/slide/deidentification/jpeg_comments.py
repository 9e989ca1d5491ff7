"""The parts of a JPEG header that decoding does not need: comments, EXIF, and segments of applications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wsi.slide.codecs import jpeg

#: Frames and tables of Huffman and arithmetic coding; scan, quantisation, lines, restarts, hierarchy (T.81, table B.1).
_DECODING: Final = frozenset({*range(0xC0, 0xD0), *range(0xDA, 0xE0)})
_JFIF: Final = 0xE0
_JFIF_SIZE: Final = 16  #: bytes of its segment; behind them may be a thumbnail
_ADOBE: Final = 0xEE  #: says the colours
_PROFILE: Final = b"ICC_PROFILE\0"


def locate_comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each comment, without marker and length, in a JPEG or in tables alone. Raises
    TileUnreadable."""
    for marker, start, end in jpeg.read_segments(data):
        if marker == _JFIF and end > start + 2 + _JFIF_SIZE:
            yield start + 2 + _JFIF_SIZE, end
        elif marker not in (*_DECODING, _JFIF, _ADOBE) and not data.startswith(_PROFILE, start + 4):
            yield start + 4, end


def blank_comments(data: bytes) -> bytes:
    """Return the JPEG with its comments overwritten by zeros. Raises TileUnreadable."""
    blanked = bytearray(data)
    for start, end in locate_comments(data):
        blanked[start:end] = bytes(end - start)
    return bytes(blanked)
