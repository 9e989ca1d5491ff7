"""Tiles that a file keeps as JPEG, as JPEGs that a browser can show by itself: nothing is decoded, no pixel changes.

A browser follows what a JPEG says of its colours, as libjpeg does, so the rule of `wsi.slide.jpeg` holds for it too.
Beyond that nothing is handed out that is no picture: a profile would change the colours of some tiles and not of those
that are put together, and comments and Exif may say who the patient is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from wsi.slide.codecs.jpeg_restarts import joined_tile
from wsi.slide.coding import Codec, Colour, Extra
from wsi.slide.decoding import TileDecoding
from wsi.slide.dicom.items import unwrapped
from wsi.slide.jpeg import complete, components_of, segments

_COLOURS: Final = (Colour.RGB, Colour.YCBCR, Colour.GREY, Colour.AS_CODED)
_KEPT: Final = frozenset({0xE0, 0xEE})  #: JFIF and Adobe: they say what the colours are
_SAYINGS: Final = frozenset({*range(0xE0, 0xF0), 0xFE}) - _KEPT  #: APPn and COM


def browser_jpeg(pieces: Sequence[bytes], decoding: TileDecoding) -> bytes | None:
    """A whole JPEG of `decoding.width` x `decoding.height` px; None where the file keeps its tiles otherwise, or a
    browser would show these otherwise than `decoding` does. Raises TileUnreadable for what is no whole header; damage
    behind it shows only in decoding."""
    coding = decoding.coding
    if not pieces or coding.planes or coding.extra is not Extra.NONE or coding.colour not in _COLOURS:
        return None
    if coding.codec is Codec.JPEG_RESTARTS:
        data = joined_tile(pieces, coding, decoding.width)
        coding = replace(coding, tables=b"")
    elif coding.codec is Codec.JPEG:
        data = b"".join(unwrapped(pieces) if coding.items else pieces)
    else:
        return None
    whole = complete(
        data,
        tables=coding.tables,
        colour=coding.colour,
        width=decoding.width,
        height=decoding.height,
        components=coding.samples or components_of(data),
    )
    return _silent(whole)


def _silent(jpeg: bytes) -> bytes:
    parts, end = [jpeg[:2]], 2
    for marker, start, end in segments(jpeg):  # the scan begins where the last one ends
        if marker not in _SAYINGS:
            parts.append(jpeg[start:end])
    return b"".join((*parts, jpeg[end:]))
