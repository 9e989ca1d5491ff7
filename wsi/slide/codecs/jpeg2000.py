"""JPEG 2000 tiles: a bare code stream (Aperio, DICOM) or one inside JP2 boxes, whose own colours do not count.

Source: ITU-T T.800. OpenJPEG, through imagecodecs, refuses a code stream that was cut off. Flipped bits inside it
cannot be noticed: JPEG 2000 holds no checksums. imagecodecs gives no access to the smaller pictures inside, which
Pillow's OpenJPEG does: an eighth of a 256-px tile takes 0.3 ms, the whole of it 2.4 ms. Their pixels lie on the corners
of the squares that a mean is taken of, 3.5 px off at an eighth: nothing that an overview shows.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Final

import numpy as np
from PIL import Image

from wsi.errors import TileUnreadable
from wsi.slide.codecs.library import is_installed, load_imagecodecs
from wsi.slide.codecs.samples import Samples, convert_ycbcr, make_decoder
from wsi.slide.coding import Coding, Colour, Reduction
from wsi.slide.reducing import reduce_pixels

_SOC_SIZ: Final = b"\xff\x4f\xff\x51"
_JP2: Final = b"\0\0\0\x0cjP  \r\n\x87\n"
_SIZ: Final = struct.Struct(">HHIIIIIIIIH")  #: Lsiz, Rsiz, Xsiz, Ysiz, XOsiz, YOsiz, tile size and origin, Csiz
_EIGHT_BITS: Final = 7  #: unsigned, in SIZ
_HALVED: Final = (((1, 1), (2, 1), (2, 1)), ((1, 1), (2, 2), (2, 2)))  #: steps of Y, Cb, Cr across and down
_SOT, _SOD, _COD, _COC = 0x90, 0x93, 0x52, 0x53
_MCT: Final = 4  #: where COD says it, behind the style, the progression and the layers
#: A tile of 1,024 px in the smallest blocks has 196,608, one of 4,096 px in blocks of 32 px 49,152: 70 MB at most.
_MOST_BLOCKS: Final = 262_144
_MOST_PRECINCTS: Final = 32_768  #: 1.6 KB each in OpenJPEG; of 2 px, a tile of 1,024 px has a million
_MOST_TILES: Final = 256  #: of a code stream; OpenJPEG holds some 10 KB for each


def unpack(data: bytes, coding: Coding, samples: int, width: int, height: int, reduction: Reduction) -> Samples:
    """Decode a tile as a `wsi.slide.codecs.samples.Unpack` does, with YCbCr converted to RGB."""
    stream = extract_code_stream(data)
    components, halved = _check_components(stream, samples, width, height)
    scales = _check_structure(stream, components, width, height)
    colour = _colour(stream) if coding.colour is Colour.AS_CODED and components == 3 else coding.colour
    if halved and colour is not Colour.YCBCR:
        raise TileUnreadable("the JPEG 2000 data has components of several sizes")
    # Pillow converts halved chroma, takes no smaller picture whose sides had to be rounded up, and an origin other than
    # 0 shifts it.
    whole = halved or width % reduction or height % reduction or _is_shifted(stream) or reduction >> scales > 1
    inside: Reduction = 1 if whole else reduction
    pixels = _decode_stream(stream, inside)
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    if pixels.dtype != np.uint8 or pixels.shape != (-(-height // inside), -(-width // inside), components):
        raise TileUnreadable(f"its JPEG 2000 data decodes to {pixels.shape} of {pixels.dtype}")
    # Where chroma is halved, as Aperio does, OpenJPEG's own tools (and so imagecodecs) convert it while they widen it.
    if colour is Colour.YCBCR and not halved:
        pixels = convert_ycbcr(pixels)
    return pixels if inside == reduction else reduce_pixels(pixels, reduction)


decode_pieces = make_decoder(unpack, converts=True)  #: a `wsi.slide.decoding.Decoder`


def _colour(stream: bytes) -> Colour:
    """Return RGB where the code stream turns its own YCbCr back (T.800, A.6.1: the multiple component transformation),
    else YCbCr. Raises TileUnreadable."""
    for marker, body in _segments(stream):
        if marker == _COD and len(body) > _MCT:
            return Colour.RGB if body[_MCT] else Colour.YCBCR
    raise TileUnreadable("its JPEG 2000 data is damaged")


def _decode_stream(stream: bytes, reduction: Reduction) -> Samples:
    """Decode the whole image, or the smaller one that the code stream holds. Both libraries are OpenJPEG and give the
    same pixels (a test compares them); imagecodecs takes less time. Raises TileUnreadable."""
    try:
        if reduction == 1 and is_installed():
            return load_imagecodecs().jpeg2k_decode(stream)
        with Image.open(io.BytesIO(stream), formats=("JPEG2000",)) as picture:
            picture.reduce = reduction.bit_length() - 1  # pyright: ignore[reportAttributeAccessIssue]
            return np.asarray(picture)
    except (OSError, RuntimeError, SyntaxError, ValueError) as error:
        raise TileUnreadable("its JPEG 2000 data is damaged") from error


def _is_shifted(stream: bytes) -> bool:
    *_, left, top, _, _, _, _, _ = _SIZ.unpack_from(stream, 4)
    return bool(left or top)


def extract_code_stream(data: bytes) -> bytes:
    """Return the code stream without the boxes of a JP2 around it. Raises TileUnreadable."""
    if not data.startswith(_JP2):
        return data
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1 and at + 16 <= len(data):
            size, head = struct.unpack_from(">Q", data, at + 8)[0], 16
        end = len(data) if size == 0 else at + size
        if (size != 0 and size < head) or end > len(data):
            break
        if kind == b"jp2c":
            return data[at + head : end]
        at = end
    raise TileUnreadable("its JPEG 2000 data is damaged: no whole code stream in it")


def _check_components(stream: bytes, samples: int, width: int, height: int) -> tuple[int, bool]:
    """Return the number of components, and whether chroma is halved. Raises TileUnreadable unless there are `samples`
    components (any number for 0) of 8 bits, and the image has the tile's size: a code stream of a KB may claim 60,000
    px a side, which costs OpenJPEG 10 GB."""
    if not stream.startswith(_SOC_SIZ) or len(stream) < 4 + _SIZ.size:
        raise TileUnreadable("not a JPEG 2000 code stream")
    _, _, right, bottom, left, top, across, down, *_, components = _SIZ.unpack_from(stream, 4)
    if (right - left, bottom - top) != (width, height):
        raise TileUnreadable(
            f"the JPEG 2000 data claims {right - left} x {bottom - top} px in a tile of {width} x {height}"
        )
    if across * down * _MOST_TILES < width * height:
        raise TileUnreadable(f"the JPEG 2000 data is cut into tiles of {across} x {down} px")
    if components not in ((1, 3) if samples == 0 else (samples,)):
        raise TileUnreadable(f"the JPEG 2000 data has {components} components, not {samples or '1 or 3'}")
    each = stream[4 + _SIZ.size : 4 + _SIZ.size + 3 * components]
    if len(each) != 3 * components or set(each[0::3]) != {_EIGHT_BITS}:
        raise TileUnreadable("the JPEG 2000 data is not of unsigned 8 bits")
    steps = tuple(zip(each[1::3], each[2::3], strict=True))
    if set(steps) != {(1, 1)} and steps not in _HALVED:
        raise TileUnreadable("the JPEG 2000 data has components of several sizes")
    return components, steps in _HALVED


def _check_structure(stream: bytes, components: int, width: int, height: int) -> int:
    """Return how often the image can be halved. Raises TileUnreadable for a code stream that is cut into so many parts
    that these cost more than its pixels."""
    halvings = 32
    for marker, body in _segments(stream):
        if marker not in (_COD, _COC):
            continue
        # T.800, A.6.1 and A.6.2: the fields before the number of decompositions differ.
        style = body[5:] if marker == _COD else body[2:]
        if len(style) < 5 or style[0] > 32:
            raise TileUnreadable("its JPEG 2000 data is damaged")
        halvings = min(halvings, style[0])
        blocks = components * width * height >> (min(style[1], 8) + min(style[2], 8) + 4)
        scales = [style[0] - resolution for resolution in range(style[0] + 1)]
        sizes = style[5:] if body[0 if marker == _COD else 1] & 1 else b"\xff" * len(scales)
        precincts = sum(
            -(-width >> (scale + (size & 15))) * -(-height >> (scale + (size >> 4)))
            for scale, size in zip(scales, sizes, strict=False)
        )
        if blocks > _MOST_BLOCKS or components * precincts > _MOST_PRECINCTS:
            raise TileUnreadable("the JPEG 2000 data is cut into too many parts")
    return halvings


def _segments(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (marker, body) of the segments of the main header and of the headers of all tile-parts."""
    at, end = 2, 0
    while at + 4 <= len(stream) and stream[at] == 0xFF:
        marker, size = stream[at + 1], int.from_bytes(stream[at + 2 : at + 4], "big")
        if marker == _SOD:
            if end <= at:
                return  # The last tile-part, which may leave its length to the end of the data.
            at = end
            continue
        if marker == _SOT:
            length = int.from_bytes(stream[at + 6 : at + 10], "big")
            end = at + length if length else 0
        yield marker, stream[at + 4 : at + 2 + size]
        at += 2 + size
