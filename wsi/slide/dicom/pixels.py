"""The coding of a level's pixels, or the reason why they are refused. The container's photometric interpretation
decides the colours."""

from __future__ import annotations

from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.coding import Codec, Coding, Colour
from wsi.slide.dicom.header import DicomHeader
from wsi.slide.dicom.meta import BIG_ENDIAN, DEFLATED, IMPLICIT, Meta
from wsi.slide.tiff import make_damaged_error

EXPLICIT: Final = "1.2.840.10008.1.2.1"
MAX_TILE: Final = 4096 * 4096  #: px; decoded, 48 MiB
_JPEG_2000: Final = {
    "RGB": Colour.RGB,
    # The code stream's own transform, which every codec turns back; converters of Aperio's tiles write it where the
    # code stream has none and holds YCbCr (openslide#772).
    "YBR_ICT": Colour.AS_CODED,
    "YBR_RCT": Colour.AS_CODED,
    "YBR_FULL": Colour.YCBCR,
    "YBR_FULL_422": Colour.YCBCR,
    "MONOCHROME2": Colour.GREY,
}
_JPEG: Final = {
    "RGB": Colour.RGB,
    "YBR_FULL": Colour.YCBCR,
    "YBR_FULL_422": Colour.YCBCR,
    "MONOCHROME2": Colour.GREY,
}
_NATIVE: Final = {"RGB": Colour.RGB, "YBR_FULL": Colour.YCBCR, "MONOCHROME2": Colour.GREY}
#: Transfer syntax -> codec, and what each photometric interpretation means under it
SYNTAXES: Final = {
    IMPLICIT: (Codec.NONE, _NATIVE),
    EXPLICIT: (Codec.NONE, _NATIVE),
    "1.2.840.10008.1.2.4.50": (Codec.JPEG, _JPEG),
    "1.2.840.10008.1.2.4.90": (Codec.JPEG_2000, _JPEG_2000),
    "1.2.840.10008.1.2.4.91": (Codec.JPEG_2000, _JPEG_2000),
}
REFUSED: Final = {
    DEFLATED: "deflated as a whole",
    BIG_ENDIAN: "big endian",
    "1.2.840.10008.1.2.4.51": "JPEG of 12 bits",
    "1.2.840.10008.1.2.4.57": "lossless JPEG",
    "1.2.840.10008.1.2.4.70": "lossless JPEG",
    "1.2.840.10008.1.2.4.80": "JPEG-LS",
    "1.2.840.10008.1.2.4.81": "JPEG-LS",
    "1.2.840.10008.1.2.4.110": "JPEG XL",
    "1.2.840.10008.1.2.4.111": "JPEG XL",
    "1.2.840.10008.1.2.4.112": "JPEG XL",
    "1.2.840.10008.1.2.4.201": "High-Throughput JPEG 2000",
    "1.2.840.10008.1.2.4.202": "High-Throughput JPEG 2000",
    "1.2.840.10008.1.2.4.203": "High-Throughput JPEG 2000",
    "1.2.840.10008.1.2.5": "run lengths",
}


def check_header(meta: Meta) -> None:
    """Raise SlideRejected UNSUPPORTED_COMPRESSION unless the header can be read, which most packings leave alone."""
    if not meta.is_readable:
        raise _make_compression_error(meta.syntax)


def read_coding(header: DicomHeader) -> Coding:
    """Return the coding of a level's pixels. Raises SlideRejected: UNSUPPORTED_COMPRESSION, BIT_DEPTH, FLUORESCENCE,
    UNSUPPORTED_PIXELS, DAMAGED."""
    if header.syntax not in SYNTAXES:
        raise _make_compression_error(header.syntax)
    codec, colours = SYNTAXES[header.syntax]
    if header.bits != (8, 8) or header.signed:
        raise SlideRejected(
            RejectReason.BIT_DEPTH,
            f"The slide stores {header.bits[1]} {'signed ' * header.signed}bits a sample where models expect 8.",
        )
    if header.paths and all(path.fluorescence for path in header.paths):
        raise make_fluorescence_error(len(header.paths))
    colour = colours.get(header.photometric)
    if colour is None or header.samples != (1 if colour is Colour.GREY else 3):
        raise SlideRejected(
            RejectReason.UNSUPPORTED_PIXELS,
            f"The slide stores {header.samples} samples a pixel in colours that cannot be read: export it as RGB.",
        )
    if header.tile_width < 1 or header.tile_height < 1 or header.tile_width * header.tile_height > MAX_TILE:
        raise make_damaged_error(f"The slide claims tiles of {header.tile_width:,} x {header.tile_height:,} px.")
    packed = codec is not Codec.NONE
    return Coding(
        codec=codec, colour=colour, planes=not packed and header.by_plane and header.samples == 3, items=packed
    )


def make_fluorescence_error(paths: int) -> SlideRejected:
    many = f"{paths} optical paths, all" if paths > 1 else "a picture"
    return SlideRejected(
        RejectReason.FLUORESCENCE,
        f"The slide holds {many} in fluorescence, and models expect stained tissue in brightfield: no choice of ours "
        "makes one of the other.",
    )


def _make_compression_error(syntax: str) -> SlideRejected:
    how = REFUSED.get(syntax, "an unknown one")
    return SlideRejected(
        RejectReason.UNSUPPORTED_COMPRESSION,
        f"The slide's DICOM files are packed in a way that cannot be read ({how}): export them as JPEG, JPEG 2000 or "
        "uncompressed.",
    )
