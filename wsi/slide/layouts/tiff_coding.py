"""The `Coding` of a level by the tags of a TIFF, or the reason why its pixels cannot be read.

The tags rule, not what a codec believes. Where tags are missing or vague, libtiff's behaviour counts, and so
OpenSlide's.
"""

from __future__ import annotations

from typing import Final

from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.slide import tiff
from wsi.slide.codecs import jpeg, packed
from wsi.slide.coding import Codec, Coding, Colour, Extra
from wsi.slide.layouts import old_jpeg
from wsi.slide.tiff import Directory, make_damaged_error

_APERIO_YCBCR: Final = 33003
CODECS: Final = {
    1: Codec.NONE,
    5: Codec.LZW,
    6: Codec.OLD_JPEG,
    7: Codec.JPEG,
    8: Codec.DEFLATE,
    32773: Codec.PACKBITS,
    32946: Codec.DEFLATE,
    _APERIO_YCBCR: Codec.JPEG_2000,
    33005: Codec.JPEG_2000,
    34712: Codec.JPEG_2000,
    34887: Codec.LERC,
    34925: Codec.LZMA,
    34926: Codec.ZSTD,
    34933: Codec.PNG,
    50000: Codec.ZSTD,
    50001: Codec.WEBP,
}
#: What people may recognise of what is not read.
OTHER_CODECS: Final = {
    2: "CCITT",
    3: "CCITT fax 3",
    4: "CCITT fax 4",
    22610: "JPEG XR of NDPI",
    34661: "JBIG",
    34892: "lossy JPEG of DNG",
    34934: "JPEG XR",  # Its decoder ends the process on damaged data: decision 41.
    50002: "JPEG XL",
    52546: "JPEG XL",
}
_GREY: Final = {0: Colour.GREY_INVERTED, 1: Colour.GREY}
_COLOURS: Final = {2: Colour.RGB, 6: Colour.YCBCR}
OTHER_COLOURS: Final = {3: "a palette", 4: "a mask", 5: "inks (CMYK)", 8: "CIE Lab", 9: "ICC Lab", 10: "ITU Lab"}
_PREDICTED: Final = frozenset({Codec.LZW, Codec.DEFLATE, Codec.ZSTD, Codec.LZMA})  #: where libtiff heeds a predictor
_ONE_BY_ONE: Final = frozenset({*packed.CODECS, Codec.JPEG, Codec.JPEG_2000, Codec.PNG, Codec.LERC})  #: as planes
_SAMPLE_KINDS: Final = {2: "signed ", 3: "floating-point "}  #: SampleFormat
_EXPECTED: Final = "where models expect red, green and blue of 8"


def read_coding(directory: Directory) -> Coding:
    """Return the coding of a page's pixels. Raises SlideRejected: BIT_DEPTH, FLUORESCENCE, UNSUPPORTED_PIXELS,
    UNSUPPORTED_COMPRESSION, DAMAGED."""
    samples = directory.read_integer(tiff.SAMPLES_PER_PIXEL, 1)
    photometric = directory.read_integer(tiff.PHOTOMETRIC, -1)
    _check_depth(directory, samples)
    colours = 1 if photometric in _GREY else 3
    if samples > 4 or (photometric in _GREY and samples > 2):
        raise SlideRejected(
            RejectReason.FLUORESCENCE,
            f"The file stores {samples} channels a pixel, as fluorescence does, {_EXPECTED}: "
            "export its brightfield picture.",
        )
    colour = (_GREY | _COLOURS).get(photometric)
    if colour is None or samples < colours:
        unknown = f"colours of kind {photometric}" if photometric >= 0 else "samples without saying of what"
        stored = OTHER_COLOURS.get(photometric, unknown)
        raise _pixels(f"The file stores {stored} {_EXPECTED} bits: save it as RGB.")
    if directory.read_integer(tiff.ORIENTATION, 1) != 1:
        raise _pixels("The file's picture is stored turned or mirrored: save it upright.")
    if directory.read_integer(tiff.FILL_ORDER, 1) != 1:
        raise _pixels("The file stores the bits of each byte in reverse (FillOrder 2): save it anew.")
    codec, colour = _packing(directory, colour)
    extra = _extra(directory, samples) if samples > colours else Extra.NONE
    planes = samples > 1 and directory.read_integer(tiff.PLANAR_CONFIGURATION, 1) == 2
    odd = planes or extra is not Extra.NONE
    grey_alpha = samples == 2 and codec is Codec.PNG  # libspng gives it in no form that imagecodecs takes.
    if (planes and codec not in _ONE_BY_ONE) or (odd and colour is Colour.YCBCR) or grey_alpha:
        raise _pixels("The file stores its colours in a way that is not read (planes or alpha): save it as RGB.")
    return Coding(
        codec=codec,
        colour=colour,
        tables=_tables(directory, codec),
        planes=planes,
        predictor=codec in _PREDICTED and directory.read_integer(tiff.PREDICTOR, 1) == 2,
        extra=extra,
        reference=old_jpeg.read_reference(directory) if codec is Codec.OLD_JPEG else (),
    )


def _check_depth(directory: Directory, samples: int) -> None:
    bits = directory.read_integers(tiff.BITS_PER_SAMPLE)
    depths = {1} if bits is None or not bits.size else set(bits.tolist())
    kinds = directory.read_integers(tiff.SAMPLE_FORMAT)
    odd = "".join(name for kind, name in _SAMPLE_KINDS.items() if kinds is not None and kind in kinds)
    if depths != {8} or odd:
        depth = "/".join(str(depth) for depth in sorted(depths))
        raise SlideRejected(
            RejectReason.BIT_DEPTH,
            f"The file stores {samples} {odd}samples of {depth} bits a pixel {_EXPECTED}: export it with 8 bits.",
        )


def _packing(directory: Directory, colour: Colour) -> tuple[Codec, Colour]:
    compression = directory.read_integer(tiff.COMPRESSION, 1)
    codec = CODECS.get(compression)
    name = OTHER_CODECS.get(compression, "") if codec is None else _not_read(directory, codec, colour)
    if codec is None or name:
        raise SlideRejected(
            RejectReason.UNSUPPORTED_COMPRESSION,
            f"The file's tiles are packed with compression {compression}{f' ({name})' if name else ''}, which is not "
            "read: save it with JPEG, JPEG 2000, LZW, Deflate or ZSTD.",
        )
    if codec in _PREDICTED and directory.read_integer(tiff.PREDICTOR, 1) not in (1, 2):
        raise SlideRejected(
            RejectReason.UNSUPPORTED_COMPRESSION,
            f"The file's tiles are packed with predictor {directory.read_integer(tiff.PREDICTOR, 1)}, which is for "
            "floating point: save it anew.",
        )
    if compression == _APERIO_YCBCR and colour is Colour.RGB:
        return codec, Colour.YCBCR  # Aperio's number says it, whatever the tag does.
    if colour is Colour.YCBCR and codec not in (Codec.JPEG, Codec.JPEG_2000, Codec.OLD_JPEG):
        raise _pixels("The file stores YCbCr that is not packed as JPEG or JPEG 2000: save it as RGB.")
    return codec, colour


def _not_read(directory: Directory, codec: Codec, colour: Colour) -> str:
    """Return the kind of packing that is not read although its codec is; empty for what is read."""
    lerc = directory.read_integers(tiff.LERC_PARAMETERS) if codec is Codec.LERC else None
    if lerc is not None and len(lerc) > 1 and lerc[1] != 0:
        return "LERC packed once more"
    if codec is Codec.OLD_JPEG and (colour is not Colour.YCBCR or old_jpeg.read_tables(directory) is None):
        return "old JPEG without tables of its own, or not in YCbCr"
    return ""


def _extra(directory: Directory, samples: int) -> Extra:
    kinds = directory.read_integers(tiff.EXTRA_SAMPLES)
    kind = 0 if kinds is None or not kinds.size else int(kinds[0])
    if kind == 2:
        return Extra.UNASSOCIATED
    # Where the file does not say, libtiff takes a fourth sample for alpha, and ignores a second one.
    return Extra.ASSOCIATED if kind == 1 or samples == 4 else Extra.IGNORED


def _tables(directory: Directory, codec: Codec) -> bytes:
    if codec is Codec.OLD_JPEG:
        return old_jpeg.read_tables(directory) or b""
    if codec is not Codec.JPEG:
        return b""
    try:
        return jpeg.extract_tables(directory.read_data(tiff.JPEG_TABLES) or b"\xff\xd8\xff\xd9")
    except TileUnreadable as error:
        raise make_damaged_error("The JPEG tables that the file's tiles share are damaged.") from error


def _pixels(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.UNSUPPORTED_PIXELS, sentence)
