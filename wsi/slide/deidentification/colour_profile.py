"""A colour profile without words: descriptions, copyrights, serial numbers and dates go, colours stay.

Source: ICC.1:2022, sections 7 (header and table of tags) and 10 (types); the type "desc" is that of ICC.1:2001.
"""

from __future__ import annotations

from typing import Final

from wsi.slide.ranges import ByteRange

_HEADER: Final = 128
_MOST_TAGS: Final = 200
#: Types that hold numbers alone.
_COLOURS: Final = frozenset(
    {
        b"XYZ ",
        b"curv",
        b"para",
        b"sf32",
        b"uf32",
        b"ui08",
        b"ui16",
        b"mft1",
        b"mft2",
        b"mAB ",
        b"mBA ",
        b"chrm",
        b"meas",
    }
)
_MADE: Final = bytes.fromhex("076c00010001000000000000")  #: 1 January 1900
#: Of the header: maker, preferred program, device, model, its attributes beyond the first four bits, creator, digest.
_SAYING: Final = (ByteRange(4, 8), ByteRange(48, 56), ByteRange(60, 64), ByteRange(80, 128))


def blank_profile(profile: bytes) -> bytes | None:
    """Return a profile of the same length and the same colours; None for what is no profile that can be read."""
    if len(profile) < _HEADER + 4 or profile[36:40] != b"acsp":
        return None
    count = int.from_bytes(profile[_HEADER : _HEADER + 4], "big")
    table = _HEADER + 4 + 12 * count
    if count > _MOST_TAGS or table > len(profile):
        return None
    blanked = bytearray(len(profile))
    blanked[:table] = profile[:table]
    for part in _SAYING:
        blanked[part.start : part.end] = bytes(part.size)
    blanked[24:36] = _MADE
    for at in range(_HEADER + 4, table, 12):
        start, size = (int.from_bytes(profile[at + 4 * n : at + 4 * n + 4], "big") for n in (1, 2))
        if start < table or start + size > len(profile) or size < 8:
            return None
        value = profile[start : start + size]
        blanked[start : start + size] = value if value[:4] in _COLOURS else _blank_tag(value)
    return bytes(blanked)


def _blank_tag(value: bytes) -> bytes:
    """Return a tag that says nothing: an empty text of its type, or zeros."""
    kind, head = value[:4], value[:4] + bytes(4)
    if kind == b"mluc":  # no records; each would be of 12 bytes
        return (head + bytes(4) + (12).to_bytes(4, "big")).ljust(len(value), b"\0")[: len(value)]
    if kind == b"desc":  # a text of one byte, its end
        return (head + (1).to_bytes(4, "big")).ljust(len(value), b"\0")[: len(value)]
    if kind in (b"text", b"sig ", b"view"):
        return head.ljust(len(value), b"\0")
    return (b"text" + bytes(4)).ljust(len(value), b"\0")
