"""docs/formats.md from the reader's own tables: `python -m tools.formats > docs/formats.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tools.limits import limits
from wsi.errors import RejectReason
from wsi.slide.coding import Codec
from wsi.slide.dicom.pixels import REFUSED, SYNTAXES
from wsi.slide.layouts.registry import TIFF_LAYOUTS
from wsi.slide.layouts.tiff_coding import CODECS, OTHER_CODECS, OTHER_COLOURS
from wsi.slide.opening import MAX_SCRATCH
from wsi.slide.openslide import FORMATS
from wsi.slide.scales.texts import SCALE_TEXTS

#: How people call them.
CODEC_NAMES: Final[Mapping[Codec, str]] = {
    Codec.JPEG: "JPEG",
    Codec.JPEG_RESTARTS: "slices of one JPEG between restart markers",
    Codec.JPEG_2000: "JPEG 2000",
    Codec.NONE: "none",
    Codec.PACKBITS: "PackBits",
    Codec.LZW: "LZW",
    Codec.DEFLATE: "Deflate",
    Codec.ZSTD: "ZSTD",
    Codec.LZMA: "LZMA",
    Codec.WEBP: "WebP",
    Codec.PNG: "PNG",
    Codec.LERC: "LERC",
    Codec.OLD_JPEG: "old JPEG",
}
#: When a slide is told so.
REASONS: Final[Mapping[RejectReason, str]] = {
    RejectReason.NOT_A_SLIDE: "a picture, an archive, a web page, text: nothing that a scanner wrote",
    RejectReason.TRUNCATED: "a place that the file names lies past its end; told before any tile is read",
    RejectReason.DAMAGED: "directories that contradict themselves, or no tile of the overview decodes",
    RejectReason.MISSING_FILES: "a slide of several files (MRXS, VMS, DICOM, OME) came without some of them",
    RejectReason.UNSUPPORTED_FORMAT: "neither our readers nor OpenSlide know the layout; a TIFF of strips is one",
    RejectReason.UNSUPPORTED_PIXELS: "inks, palettes, Lab; stored turned or mirrored; black all over",
    RejectReason.NO_MPP: "no µm per pixel in the file and none given",
    RejectReason.ABSURD_MPP: "µm per pixel outside 0.05 to 20",
    RejectReason.MPP_CONFLICT: "two places of the file differ by a factor of 2.54 or 10, and none is given",
    RejectReason.SLIDE_TOO_COARSE: "level 0 is coarser than the model wants, and enlarging is not allowed",
    RejectReason.TOO_LARGE_FOR_FORMAT: "larger than a copy may be, of a format that only OpenSlide reads",
    RejectReason.UNSUPPORTED_COMPRESSION: "tiles are packed in a way that is not read (below)",
    RejectReason.BIT_DEPTH: "not 8 unsigned bits a sample",
    RejectReason.FLUORESCENCE: "several channels, or said to be fluorescence",
    RejectReason.OPTICAL_PATHS: "several optical paths in brightfield, and none is chosen (DICOM: `optical_path`)",
    RejectReason.Z_STACK: "several planes of focus, none marked as in focus, none chosen (DICOM: `focal_plane`)",
    RejectReason.SEVERAL_PICTURES: "one file holds several scans, and none is chosen (`picture`)",
    RejectReason.SEVERAL_SLIDES: "the files sent as one slide are those of several slides",
    RejectReason.NO_SUCH_CHOICE: "an optical path, a plane of focus or an image is chosen that the slide does not hold",
    RejectReason.CLAIMS_TOO_MUCH: "more pixels than the file's bytes can hold",
    RejectReason.CAN_NOT_DEIDENTIFY: "it was asked for, and the file keeps identifiers where they can not be removed",
}
NATIVE_VENDORS: Final = frozenset({"aperio", "generic-tiff", "hamamatsu", "dicom"})


def page() -> str:
    """The page as Markdown."""
    return "\n".join((_head(), *_formats(), *_compressions(), *_dicom(), *_scales(), *_limits(), *_reasons()))


def _head() -> str:
    return (
        "# Formats that are read\n\n"
        "Generated from the reader's own tables (`python -m tools.formats > docs/formats.md`). What each test file "
        "comes to, and whose pixels it is held against, is in "
        "[tests/wsi/slide_outcomes.toml](../tests/wsi/slide_outcomes.toml).\n\n"
        "**native**: by HTTP ranges, without a copy, pixels equal to OpenSlide's (JPEG 2000 in YCbCr and alpha: within "
        f"1). **scratch**: OpenSlide on a copy, at most {MAX_SCRATCH / 1024**3:.0f} GiB unless the worker is set "
        "otherwise; the summary says why. Pixels are 8-bit brightfield colour or grey; colour profiles are recorded "
        "and not applied. What is read natively can be de-identified, old JPEG excepted: "
        "[deidentify.md](deidentify.md).\n"
    )


def _formats() -> Iterable[str]:
    rows = [(layout.name, "native", _codecs(layout.codecs), layout.refuses) for layout in TIFF_LAYOUTS]
    dicom = frozenset(codec for codec, _ in SYNTAXES.values())
    planes = "several optical paths or planes of focus unless one is chosen; series without a VOLUME picture"
    rows.append(("DICOM whole-slide series", "native", _codecs(dicom), planes))
    others = sorted([name for vendor, name in FORMATS.items() if vendor not in NATIVE_VENDORS] + ["vms", "vmu"])
    rows.append((", ".join(others), "scratch", "as OpenSlide", "as OpenSlide"))
    rows.append(("TIFF that OpenSlide reads and the layouts above do not", "scratch", "as OpenSlide", "as OpenSlide"))
    return _table("Formats", ("Format", "Path", "Codecs", "Refused or left to OpenSlide"), rows)


def _compressions() -> Iterable[str]:
    read = [(str(number), CODEC_NAMES[codec], "read") for number, codec in CODECS.items()]
    refused = [
        (str(number), name, f"`{RejectReason.UNSUPPORTED_COMPRESSION}`") for number, name in OTHER_CODECS.items()
    ]
    yield from _table("TIFF compressions", ("Number", "Name", ""), sorted(read + refused, key=lambda row: int(row[0])))
    yield (
        "Interleaved or planar, with horizontal predictor, in either byte order, classic or BigTIFF; alpha is laid "
        "over the colour that the model's card gives to what lies outside the slide. "
        f"Colours refused as `{RejectReason.UNSUPPORTED_PIXELS}`: {', '.join(OTHER_COLOURS.values())}.\n\n"
        "Old JPEG is read where each tile is a bare scan in YCbCr and the tables lie in tags of their own, with "
        "libtiff's pixels; not where the tags point at a whole JPEG. JPEG XR is refused because its one decoder "
        "(jxrlib) ends the process on damaged data. Pictures stored turned or mirrored (Orientation 2 to 8) "
        "are refused because their tiles, cut at the right and at the bottom as stored, would lie cut at the left or "
        "at the top once the picture is upright, where no level here can begin.\n"
    )


def _dicom() -> Iterable[str]:
    read = [(syntax, CODEC_NAMES[codec], "read") for syntax, (codec, _) in SYNTAXES.items()]
    refused = [(syntax, name, f"`{RejectReason.UNSUPPORTED_COMPRESSION}`") for syntax, name in REFUSED.items()]
    return _table("DICOM transfer syntaxes", ("UID", "Name", ""), read + refused)


def _scales() -> Iterable[str]:
    rows = [(row.source, row.writers, f"`{row.example}`", "behind the tags" * row.inherited) for row in SCALE_TEXTS]
    yield from _table("Texts of TIFFs that state a scale", ("Source", "Written by", "0.25 µm per pixel", ""), rows)
    yield (
        "The first source that states both axes counts: the field that the layout itself has (OME-XML, NDPI, what "
        "OpenSlide reads of other vendors), ImageJ's `unit=` with the resolution tags, the texts above, the resolution "
        "tags (`tiff-resolution`; any numeric type; inch, cm, mm and µm). Texts stand in ImageDescription, XMP, "
        "Software, Make or Model of level 0's page, or in the description of a page that names level 0's size. Numbers "
        "may have a decimal comma, an exponent, and µm, nm, mm, cm or inch behind them. Zero, negative numbers, 72 and "
        "96 dots per inch count as missing. Where nothing counts, the message quotes a field, its number and its unit "
        "that look like a scale, and nothing else of the text.\n"
    )


def _limits() -> Iterable[str]:
    rows = [(row.what, row.most, row.known, row.source) for row in limits()]
    yield from _table("Limits", ("Of", "At most", "Largest real value known", "Source"), rows)
    yield "Bytes and counts that a file claims beyond these are refused before they are read.\n"


def _reasons() -> Iterable[str]:
    rows = [(f"`{reason}`", REASONS[reason]) for reason in RejectReason]
    return _table("Reasons to refuse a slide", ("Code", "When"), rows)


def _codecs(codecs: Iterable[Codec]) -> str:
    return ", ".join(CODEC_NAMES[codec] for codec in Codec if codec in set(codecs))


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"## {title}\n"
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
