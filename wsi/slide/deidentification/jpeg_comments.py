"""The parts of a JPEG header that decoding does not need: comments, EXIF, and segments of applications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wsi.slide.codecs import jpeg

#: Frames and tables of Huffman and arithmetic coding; scan, quantisation, lines, restarts, hierarchy (T.81, table B.1).
_DECODING: Final = frozenset({*range(0xC0, 0xD0), *range(0xDA, 0xE0)})
SCAN: Final = 0xDA
END: Final = b"\xff\xd9"
_SCAN_START: Final = b"\xff\xda"
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
    """Return the JPEG, or tables alone, with its comments and what is behind the tables overwritten by zeros. Raises
    TileUnreadable."""
    blanked = bytearray(data)
    for start, end in locate_comments(data):
        blanked[start:end] = bytes(end - start)
    last = [(marker, end) for marker, _, end in jpeg.read_segments(data)][-1:]
    if last and last[0][0] != SCAN:
        behind = data.index(END, last[0][1]) + 2
        blanked[behind:] = bytes(len(data) - behind)
    return bytes(blanked)


def locate_behind(data: bytes) -> list[tuple[int, int]]:
    """Return (start, end) of what is behind the end of a JPEG of one scan: in a scan, no end marker can be part of the
    pixels. Raises TileUnreadable."""
    scan = next((end for marker, _, end in jpeg.read_segments(data) if marker == SCAN), None)
    end = -1 if scan is None else data.find(END, scan)
    if scan is None or end < 0 or data.find(_SCAN_START, scan, end) >= 0:
        return []
    return [(end + 2, len(data))]
