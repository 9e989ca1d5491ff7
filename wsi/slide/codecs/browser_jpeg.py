"""JPEG tiles of a file as JPEGs that a browser can show by itself: nothing is decoded, no pixel changes.

A browser follows what a JPEG says of its colours, as libjpeg does, so the rule of `codecs.jpeg` holds here too.
Segments that are not part of the image are left out. A profile would change the colours of these tiles and not of tiles
that are stitched together; comments and Exif may say who the patient is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from wsi.slide.codecs.jpeg import complete, count_components, read_segments
from wsi.slide.codecs.jpeg_restarts import join_tile
from wsi.slide.coding import Codec, Colour, Extra
from wsi.slide.decoding import TileDecoding
from wsi.slide.dicom.items import unwrap_items

_COLOURS: Final = (Colour.RGB, Colour.YCBCR, Colour.GREY, Colour.AS_CODED)
_KEPT: Final = frozenset({0xE0, 0xEE})  #: JFIF and Adobe: they say what the colours are
_SAYINGS: Final = frozenset({*range(0xE0, 0xF0), 0xFE}) - _KEPT  #: APPn and COM


def make_browser_jpeg(pieces: Sequence[bytes], decoding: TileDecoding) -> bytes | None:
    """Return a whole JPEG of `decoding.width` x `decoding.height` px. None if the file stores its tiles in another way,
    or if a browser would show them differently than `decoding` does. Raises TileUnreadable for an incomplete header;
    damage after the header is found only by decoding."""
    coding = decoding.coding
    if not pieces or coding.planes or coding.extra is not Extra.NONE or coding.colour not in _COLOURS:
        return None
    if coding.codec is Codec.JPEG_RESTARTS:
        data = join_tile(pieces, coding, decoding.width)
        coding = replace(coding, tables=b"")
    elif coding.codec is Codec.JPEG:
        data = b"".join(unwrap_items(pieces) if coding.items else pieces)
    else:
        return None
    whole = complete(
        data,
        tables=coding.tables,
        colour=coding.colour,
        width=decoding.width,
        height=decoding.height,
        components=coding.samples or count_components(data),
    )
    return _silent(whole)


def _silent(jpeg: bytes) -> bytes:
    parts, end = [jpeg[:2]], 2
    for marker, start, end in read_segments(jpeg):  # the scan begins where the last one ends
        if marker not in _SAYINGS:
            parts.append(jpeg[start:end])
    return b"".join((*parts, jpeg[end:]))
