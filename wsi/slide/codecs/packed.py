"""Tiles whose samples are packed without loss: uncompressed, PackBits, LZW, Deflate, ZSTD, LZMA.

The room for the result is the tile's, whatever the data claims: a Deflate tile of 1 MB can hold 1 GB. A result that is
shorter or longer than the tile makes it unreadable.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from typing import Final

import numpy as np

from wsi.errors import TileUnreadable
from wsi.slide.codecs.library import load_imagecodecs
from wsi.slide.codecs.samples import Samples
from wsi.slide.coding import Codec, Coding, Reduction
from wsi.slide.reducing import reduce_pixels

_LZMA_MEMORY: Final = 96 * 1024**2  #: bytes; `xz -9` needs 65 MB to unpack, and a header may claim 4 GB

#: (data, room) -> what `data` unpacks to, at most `room` bytes of it.
_Unpacker = Callable[[bytes, int], bytes | bytearray | memoryview]


def _unpack_lzma(data: bytes, size: int) -> bytes:
    stream = lzma.LZMADecompressor(lzma.FORMAT_AUTO, _LZMA_MEMORY)
    found = stream.decompress(data, size)
    return found if stream.eof else b""  # The checksum follows the last byte.


_UNPACKERS: Final[dict[Codec, _Unpacker]] = {
    Codec.NONE: lambda data, _: data,
    Codec.PACKBITS: lambda data, size: load_imagecodecs().packbits_decode(data, out=bytearray(size)),
    Codec.LZW: lambda data, size: load_imagecodecs().lzw_decode(data, out=bytearray(size)),
    Codec.DEFLATE: lambda data, size: load_imagecodecs().deflate_decode(data, out=bytearray(size)),
    Codec.ZSTD: lambda data, size: load_imagecodecs().zstd_decode(data, out=bytearray(size)),
    Codec.LZMA: _unpack_lzma,
}
CODECS: Final = tuple(_UNPACKERS)


def unpack(data: bytes, coding: Coding, samples: int, width: int, height: int, reduction: Reduction) -> Samples:
    """Unpack a tile as a `wsi.slide.codecs.samples.Unpack` does."""
    size = width * height * samples
    try:
        # One byte more than the tile needs, so that one which is too long shows.
        found = _UNPACKERS[coding.codec](data, size + 1)
    except (RuntimeError, ValueError, lzma.LZMAError) as error:
        raise TileUnreadable(f"its {coding.codec} data is damaged") from error
    if len(found) != size:
        raise TileUnreadable(f"its {coding.codec} data does not unpack to the {size:,} bytes of its pixels")
    pixels = np.frombuffer(found, np.uint8).reshape(height, width, samples)
    if coding.predictor:
        pixels = np.asarray(load_imagecodecs().delta_decode(pixels, axis=1))  # Six times as fast as a cumulative sum.
    return reduce_pixels(pixels, reduction)
