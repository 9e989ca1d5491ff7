"""JPEG tiles as TIFF keeps them: made whole, given the container's colours, checked, decoded.

The marker rule: the container's photometric interpretation decides the colours, whatever the JPEG says. Aperio writes
RGB tiles whose components are numbered 0, 1, 2 without any marker, which every JPEG library takes for YCbCr (wrong by
up to 254 levels); some converters put Adobe's "RGB" marker into YCbCr tiles. So APP0 (JFIF) and APP14 (Adobe) are
dropped wherever they are, and one APP14 that says what the container says is put in. Measured exact against OpenSlide.
The one exception is chroma that is stored smaller than luma: green and blue never are, so such a tile is YCbCr even
where the container says RGB, as Bio-Formats writes it into DICOM (libdicom#80).
Only where the container is silent (`Colour.AS_CODED`) the markers stay, and libjpeg's own rule decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.errors import TileUnreadable
from wsi.slide.codecs.samples import Samples, make_decoder
from wsi.slide.coding import Coding, Colour, Reduction
from wsi.slide.reducing import reduce_pixels
from wsi.slide.slide import RGB

# APP14: length 14, "Adobe", version 100, two flag words, colour transform (0 none, 1 YCbCr). Adobe Technical Note 5116.
_ADOBE: Final = {
    Colour.RGB: bytes.fromhex("ffee000e41646f626500640000000000"),
    Colour.YCBCR: bytes.fromhex("ffee000e41646f626500640000000001"),
}
RAW_COLOURS: Final = _ADOBE[Colour.RGB]  #: libjpeg hands out what is stored
#: Colour spaces requested from simplejpeg, by the number of components; "CMYK" gives four as they are.
_SPACES: Final = {1: "GRAY", 3: "RGB", 4: "CMYK"}
_SCALED_FROM: Final = 16  #: px of a tile's side from which libjpeg's smaller images differ in size
_SOI: Final = b"\xff\xd8"
_SCAN: Final = b"\xff\xda"
_MOST_SCANS: Final = (
    100  #: a progressive JPEG has about ten; each goes over all of the tile, so that thousands take hours
)
_APP0, _APP14, _SOS, _EOI = 0xE0, 0xEE, 0xDA, 0xD9
_TABLES: Final = frozenset({0xDB, 0xC4, 0xCC, 0xDD})  #: DQT, DHT, DAC, DRI
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  #: SOF0 to SOF15
_SEQUENTIAL: Final = frozenset({0xC0, 0xC1})
_BARE: Final = frozenset({0x01, *range(0xD0, 0xD8)})  #: TEM and RSTn have no length


def read_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (marker, start, end) of each segment after SOI, up to and including the first SOS, or up to EOI. Raises
    TileUnreadable."""
    if data[:2] != _SOI:
        raise TileUnreadable("not a JPEG: no start-of-image marker")
    at = 2
    while True:
        if at + 2 > len(data):
            raise TileUnreadable("the JPEG ends inside its header")
        if data[at] != 0xFF:
            raise TileUnreadable("the JPEG's header holds bytes that belong to no segment")
        marker = data[at + 1]
        if marker == 0xFF:  # A fill byte (T.81, B.1.1.2).
            at += 1
            continue
        if marker == _EOI:
            return
        if marker in _BARE:
            at += 2
            continue
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        end = at + 2 + size
        if size < 2 or end > len(data):
            raise TileUnreadable("the JPEG ends inside its header")
        yield marker, at, end
        if marker == _SOS:
            return
        at = end


def extract_tables(tables: bytes) -> bytes:
    """Return the tables in a JPEGTables tag, which each tile needs, without its other segments. Raises
    TileUnreadable."""
    return b"".join(tables[start:end] for marker, start, end in read_segments(tables) if marker in _TABLES)


def complete(tile: bytes, *, tables: bytes, colour: Colour, width: int, height: int, components: int = 3) -> bytes:
    """Return a whole JPEG of `width` x `height` px and `components` components that states the container's colours.

    `tables` comes from `extract_tables`. Raises TileUnreadable, before anything is decoded, unless the tile holds one
    frame of exactly that size: a 64-px tile that claims 30,000 px a side costs libjpeg 2.6 GB.
    """
    silent = colour is Colour.AS_CODED
    kept: list[bytes] = []
    frames, sequential = 0, False
    for marker, start, end in read_segments(tile):
        segment = tile[start:end]
        if marker in _FRAMES:
            frames += 1
            sequential = marker in _SEQUENTIAL
            _check_frame(segment, width, height, components)
            if colour is Colour.RGB and components == 3 and _is_subsampled(segment):
                colour = Colour.YCBCR
            segment = _with_third(segment) if components == 2 else segment
        if marker == _SOS:
            if frames != 1:
                raise TileUnreadable(f"the JPEG holds {frames} frame headers before its first scan")
            # Of a scan that holds all, libjpeg suffers no second one; counting takes 3 % of decoding.
            if not (sequential and tile[start + 4] == components) and tile.count(_SCAN) > _MOST_SCANS:
                raise TileUnreadable("the JPEG holds too many scans")
            return b"".join((_SOI, _adobe(colour, components), tables, *kept, tile[start:]))
        if silent or marker not in (_APP0, _APP14):
            kept.append(segment)
    raise TileUnreadable("the JPEG ends before its first scan")


def unpack(data: bytes, coding: Coding, samples: int, width: int, height: int, reduction: Reduction) -> Samples:
    """Decode a tile as a `wsi.slide.codecs.samples.Unpack` does, with YCbCr converted to RGB."""
    components = samples or count_components(data)
    whole = complete(
        data, tables=coding.tables, colour=coding.colour, width=width, height=height, components=components
    )
    scaled = reduction if min(width, height) >= _SCALED_FROM else 1
    pixels = _decode(whole, _SPACES.get(components, "RGB"), -(-width // scaled), -(-height // scaled))
    return reduce_pixels(pixels[..., :components], 1 if scaled == reduction else reduction)


decode_pieces = make_decoder(unpack, converts=True)  #: a `wsi.slide.decoding.Decoder`


def decode(jpeg: bytes) -> RGB:
    """Return [height, width, 3] of a JPEG of three components. libjpeg's warnings count as errors: what it would paint
    is not the slide. Raises TileUnreadable."""
    return _decode(jpeg, "RGB", 0, 0)


def _decode(jpeg: bytes, space: str, width: int, height: int) -> Samples:
    """Return the smallest image that libjpeg can decode with at least `width` x `height` px; 0 for the whole image.
    Raises TileUnreadable."""
    try:
        pixels = simplejpeg.decode_jpeg(jpeg, colorspace=space, strict=True, min_width=width, min_height=height)
    except ValueError as error:
        raise TileUnreadable(str(error)) from error
    if width and pixels.shape[:2] != (height, width):
        raise TileUnreadable(f"the JPEG decodes to {pixels.shape[1]} x {pixels.shape[0]} px, not {width} x {height}")
    return pixels


def _adobe(colour: Colour, components: int) -> bytes:
    """Return the Adobe marker that keeps libjpeg from guessing the colours. It is empty for one component and for four,
    which libjpeg does not convert."""
    if components == 2:
        return _ADOBE[Colour.RGB]
    return _ADOBE.get(colour, b"") if components == 3 else b""


def _is_subsampled(frame: bytes) -> bool:
    """Return whether the components of a frame header have several sizes."""
    return len(set(frame[11::3])) > 1


def _with_third(frame: bytes) -> bytes:
    """Return the frame header of two components with a third one that no scan holds. libjpeg-turbo's interface has no
    images of two components, and the decoders that have them do not report damage."""
    unused = min({0, 1, 2} - {frame[10], frame[13]})
    size = (int.from_bytes(frame[2:4], "big") + 3).to_bytes(2, "big")
    return frame[:2] + size + frame[4:9] + b"\x03" + frame[10:16] + bytes((unused, 0x11, frame[12]))


def count_components(tile: bytes) -> int:
    """Return 1 if the JPEG has one component, else 3. It is for tiles whose container states no number."""
    for marker, start, end in read_segments(tile):
        if marker in _FRAMES and end - start >= 10:
            return 1 if tile[start + 9] == 1 else 3
    return 3


def _check_frame(frame: bytes, width: int, height: int, components: int) -> None:
    if len(frame) < 10 or len(frame) != 10 + 3 * frame[9]:
        raise TileUnreadable("the JPEG's frame header is damaged")
    said_height, said_width, said = int.from_bytes(frame[5:7], "big"), int.from_bytes(frame[7:9], "big"), frame[9]
    if frame[4] != 8 or said != components:
        raise TileUnreadable(f"the JPEG has {said} components of {frame[4]} bits, not {components} of 8")
    if (said_width, said_height) != (width, height):
        raise TileUnreadable(f"the JPEG claims {said_width} x {said_height} px in a tile of {width} x {height}")
