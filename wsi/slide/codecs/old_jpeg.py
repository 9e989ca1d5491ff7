"""Tiles of old JPEG (TIFF 6.0, section 22): bare scans, whose headers are made from the directory's tags.

Pixels are libtiff's, the one reader that is left: chroma repeated, not interpolated, and YCbCr between the black and
the white that the directory states. libjpeg is given RGB as the samples' colours, so that it returns them unconverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import simplejpeg  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.slide.codecs.jpeg import RAW_COLOURS
from wsi.slide.codecs.samples import Samples
from wsi.slide.coding import Coding, Reduction
from wsi.slide.reducing import reduce_pixels
from wsi.slide.slide import RGB

MOST_PX: Final = 65_500  #: of a tile's side, in libjpeg
_EOI: Final = b"\xff\xd9"
_LIMIT: Final = 128 * 32
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114


def make_header(
    width: int,
    height: int,
    sampling: tuple[int, int],
    tables: Sequence[tuple[bytes, bytes, bytes]],
    restarts: int,
) -> bytes:
    """Return the header of a tile of `width` x `height` px. `tables` are quantisation, DC and AC of Y, Cb and Cr."""
    across, down = sampling
    shapes = (across << 4 | down, 0x11, 0x11)
    frame = b"".join(bytes((part + 1, shape, part)) for part, shape in enumerate(shapes))
    scan = b"".join(bytes((part + 1, part << 4 | part)) for part in range(3))
    return b"".join(
        (
            b"\xff\xd8",
            RAW_COLOURS,
            *(_segment(0xDB, bytes((part,)) + quant) for part, (quant, _, _) in enumerate(tables)),
            *(_segment(0xC4, bytes((part,)) + dc) for part, (_, dc, _) in enumerate(tables)),
            *(_segment(0xC4, bytes((0x10 | part,)) + ac) for part, (_, _, ac) in enumerate(tables)),
            _segment(0xDD, restarts.to_bytes(2, "big")) if restarts else b"",
            _segment(0xC1, bytes((8, *height.to_bytes(2, "big"), *width.to_bytes(2, "big"), 3)) + frame),
            _segment(0xDA, b"\x03" + scan + bytes((0, 63, 0))),
        )
    )


def _segment(marker: int, data: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(data) + 2).to_bytes(2, "big") + data


def unpack(data: bytes, coding: Coding, samples: int, width: int, height: int, reduction: Reduction) -> Samples:
    """Decode a tile as an `Unpack` does, with YCbCr converted to RGB. The header is ours, and so is the size that it
    claims."""
    try:
        pixels = simplejpeg.decode_jpeg(coding.tables + data + _EOI, colorspace="RGB", fastupsample=True, strict=True)
    except ValueError as error:
        raise TileUnreadable(str(error)) from error
    if pixels.shape != (height, width, samples):
        raise TileUnreadable(f"the JPEG decodes to {pixels.shape[1]} x {pixels.shape[0]} px, not {width} x {height}")
    return reduce_pixels(_rgb(pixels, coding.reference), reduction)


def _rgb(samples: Samples, reference: tuple[int, ...]) -> RGB:
    luma, red, green_cb, green_cr, blue = _tables(reference)
    y, cb, cr = luma[samples[..., 0]], samples[..., 1], samples[..., 2]
    rgb = np.stack((y + red[cr], y + ((green_cb[cb] + green_cr[cr]) >> 16), y + blue[cb]), axis=2)
    return rgb.clip(0, 255).astype(np.uint8)


@lru_cache(maxsize=16)
def _tables(reference: tuple[int, ...]) -> tuple[NDArray[np.int32], ...]:
    """Return libtiff's tables that convert YCbCr to RGB, rounded as there (tif_color.c, TIFFYCbCrToRGBInit): 16
    fractional bits."""
    values = np.arange(256, dtype=np.int32)
    luma = _scale(values, reference[0], reference[1], 255)
    cb, cr = (_scale(values - 128, reference[at] - 128, reference[at + 1] - 128, 127) for at in (2, 4))
    red, blue = 2 - 2 * _RED, 2 - 2 * _BLUE
    return (
        luma,
        (_to_fixed_point(red) * cr + 32_768) >> 16,
        -_to_fixed_point(_BLUE * blue / _GREEN) * cb + 32_768,
        -_to_fixed_point(_RED * red / _GREEN) * cr,
        (_to_fixed_point(blue) * cb + 32_768) >> 16,
    )


def _scale(values: NDArray[np.int32], black: int, white: int, top: int) -> NDArray[np.int32]:
    ratio = (values - black).astype(np.float32) * np.float32(top) / np.float32(white - black or 1)
    return ratio.clip(-_LIMIT, _LIMIT).astype(np.int32)


def _to_fixed_point(factor: float) -> int:
    return int(factor * 65_536 + 0.5)
