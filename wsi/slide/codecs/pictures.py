"""Tiles that are whole files of an image format: WebP, PNG, LERC. Each header is read here first, so that no claimed
size is allocated, and a file that was cut off is recognised by its own length.

PNG goes through libspng: imagecodecs' libpng decoder crashes the process on damaged data (2026.3.6), as its JPEG XR
decoder does, which therefore is not used. WebP holds no checksums, so that flipped bits inside it cannot be noticed;
PNG and LERC hold them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from wsi.errors import TileUnreadable
from wsi.slide.codecs.library import load_imagecodecs
from wsi.slide.codecs.samples import Samples
from wsi.slide.coding import Codec, Coding, Reduction
from wsi.slide.reducing import reduce_pixels

Shape = tuple[int, int, int]  #: width, height, samples of 8 bits


def unpack(data: bytes, coding: Coding, samples: int, width: int, height: int, reduction: Reduction) -> Samples:
    """Decode a tile as a `wsi.slide.codecs.samples.Unpack` does."""
    said, decode = _FORMATS[coding.codec]
    try:
        claimed = said(data)
    except (struct.error, IndexError) as error:
        raise TileUnreadable(f"its {coding.codec} header is damaged") from error
    if claimed is None:
        raise TileUnreadable(f"its {coding.codec} data is cut off or of a kind that is not read")
    if claimed != (width, height, samples):
        raise TileUnreadable(
            f"the {coding.codec} data claims {claimed[0]} x {claimed[1]} px of {claimed[2]} samples in a tile of "
            f"{width} x {height} px of {samples}"
        )
    try:
        pixels = decode(data, samples)
    except (RuntimeError, ValueError) as error:
        raise TileUnreadable(f"its {coding.codec} data is damaged") from error
    pixels = np.asarray(pixels).reshape(*pixels.shape[:2], -1)
    if pixels.dtype != np.uint8 or pixels.shape != (height, width, samples):
        raise TileUnreadable(f"its {coding.codec} data decodes to {pixels.shape} of {pixels.dtype}")
    return reduce_pixels(pixels, reduction)


def _png(data: bytes) -> Shape | None:
    """Read the shape from IHDR (W3C PNG, section 11.2.1); None for a file that is cut off or of a kind that is not
    read."""
    if not (data.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") and data.endswith(b"\0\0\0\0IEND\xaeB`\x82")):
        return None
    width, height, bits, colour = struct.unpack_from(">IIBB", data, 16)
    samples = {0: 1, 2: 3, 6: 4}.get(colour)  # grey, RGB, RGBA
    return (width, height, samples) if bits == 8 and samples is not None else None


def _webp(data: bytes) -> Shape | None:
    """Read the shape from a WebP header (RFC 9649). Samples are 3 for VP8, and for VP8L what its alpha flag says;
    animations are not read."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or struct.unpack_from("<I", data, 4)[0] + 8 > len(data):
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        flags = data[20]
        canvas = (1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little"))
        return None if flags & 2 else (*canvas, 4 if flags & 16 else 3)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF, 3
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = struct.unpack_from("<I", data, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF), 4 if bits >> 28 & 1 else 3
    return None


def _lerc(data: bytes) -> Shape | None:
    """Read the shape from Lerc2 of version 4 and later (github.com/Esri/lerc, Lerc2.h), whose checksum the decoder
    compares."""
    magic, version, _, rows, columns, samples, valid, _, size, kind = struct.unpack_from("<6siIiiiiiii", data)
    whole = magic == b"Lerc2 " and version >= 4 and size == len(data)
    return (columns, rows, samples) if whole and kind == 1 and valid == rows * columns else None


_FORMATS: Final[dict[Codec, tuple[Callable[[bytes], Shape | None], Callable[[bytes, int], Any]]]] = {
    Codec.PNG: (_png, lambda data, _: load_imagecodecs().spng_decode(data)),
    Codec.WEBP: (_webp, lambda data, samples: load_imagecodecs().webp_decode(data, hasalpha=samples == 4)),
    Codec.LERC: (_lerc, lambda data, _: load_imagecodecs().lerc_decode(data)),
}
CODECS: Final = tuple(_FORMATS)
