"""The conversion of a codec's samples to red, green and blue: planes, grey, YCbCr, alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.slide.coding import Coding, Colour, Extra, Reduction
from wsi.slide.slide import RGB

Samples = NDArray[np.uint8]  #: [height, width, samples]

#: (data, coding, samples a pixel, tile width, tile height, reduction) -> [ceil(height / reduction), ceil(width /
#: reduction), samples], with 0 samples for as many as the data holds. Checks that the coded size is the tile's before
#: anything of that size is allocated. Raises TileUnreadable.
Unpack = Callable[[bytes, Coding, int, int, int, Reduction], Samples]

# ITU-T T.871 (JFIF), as libjpeg rounds it: 16 fractional bits.
_CHROMA: Final = np.arange(256, dtype=np.int32) - 128
_RED: Final = (91_881 * _CHROMA + 32_768) >> 16
_BLUE: Final = (116_130 * _CHROMA + 32_768) >> 16
_GREEN_CB: Final = -22_554 * _CHROMA
_GREEN_CR: Final = -46_802 * _CHROMA + 32_768


def make_decoder(
    unpack: Unpack, *, converts: bool = False
) -> Callable[[Sequence[bytes], Coding, int, int, Reduction], RGB]:
    """Return the `wsi.slide.decoding.Decoder` of a codec. `converts`: its library converts YCbCr to RGB; otherwise we
    do."""

    def decode(pieces: Sequence[bytes], coding: Coding, width: int, height: int, reduction: Reduction) -> RGB:
        samples = _unpack_pieces(unpack, pieces, coding, width, height, reduction)
        colour = Colour.RGB if converts and coding.colour is Colour.YCBCR else coding.colour
        return to_rgb(samples, colour, coding.extra, coding.ground)

    return decode


def _unpack_pieces(
    unpack: Unpack, pieces: Sequence[bytes], coding: Coding, width: int, height: int, reduction: Reduction
) -> Samples:
    """Return all samples of a tile, from its planes or from its one stream. Raises TileUnreadable."""
    if not coding.planes:
        return unpack(b"".join(pieces), coding, coding.samples, width, height, reduction)
    if len(pieces) != coding.samples:
        raise TileUnreadable(f"has {len(pieces)} planes where its pixels have {coding.samples}")
    return np.concatenate([unpack(piece, coding, 1, width, height, reduction) for piece in pieces], axis=2)


def to_rgb(samples: Samples, colour: Colour, extra: Extra, ground: int = 255) -> RGB:
    """Return [height, width, 3], with transparent pixels on a ground of grey value `ground`. `AS_CODED` samples are
    grey when there is one, else RGB."""
    alpha = samples[..., -1:] if extra is not Extra.NONE else None
    colours = samples if alpha is None else samples[..., :-1]
    if colour is Colour.YCBCR:
        colours = convert_ycbcr(colours)
    if colour is Colour.GREY_INVERTED:
        colours = 255 - colours
    if alpha is not None and extra is not Extra.IGNORED:
        colours = _on_ground(colours, alpha, ground, associated=extra is Extra.ASSOCIATED)
    if colours.shape[2] == 1:
        colours = np.repeat(colours, 3, axis=2)
    return np.ascontiguousarray(colours)


def convert_ycbcr(samples: Samples) -> RGB:
    """Convert YCbCr of full range to RGB, rounded as libjpeg does it."""
    y, cb, cr = samples[..., 0].astype(np.int32), samples[..., 1], samples[..., 2]
    red = y + _RED[cr]
    green = y + ((_GREEN_CB[cb] + _GREEN_CR[cr]) >> 16)
    blue = y + _BLUE[cb]
    return np.clip(np.stack((red, green, blue), axis=2), 0, 255).astype(np.uint8)


def _on_ground(colours: Samples, alpha: Samples, ground: int, *, associated: bool) -> Samples:
    if alpha.min() == 255:
        return colours
    share = alpha.astype(np.uint32)
    seen = colours.astype(np.uint32) if associated else (colours * share + 127) // 255
    return np.minimum(seen + (ground * (255 - share) + 127) // 255, 255).astype(np.uint8)
