"""What files say of their scale, in the words and the numbers in which their writers say it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import tifffile

from tests.cases.case import Case, Read, Refused, check, parametrised
from tests.cases.pages import Page, change_entry, drawn, svs_text, write_pages
from tests.slides.ome import write_ome
from wsi.errors import RejectReason

WIDTH, HEIGHT = 320, 240
SIDES = [(WIDTH, HEIGHT)]
BASE = drawn()
KFBIO = (
    b"Aperio Format Scanned By KFBIO\r\n320x240 [0,0 320x240] (64x64), JPEG/RGB Q=30|AppMag = 20|MPP = 0.484490"
    b"|User = KFPBL0|Time = 18:11:07|Time-Used = \x03(:.):\x8d,\x00"
)
SEGUE = (
    "Aperio Leica Biosystems Segue v1.0 \n320x240 [0,0,320x240] (64x64) JPEG/YCC Q=91|AppMag = 40|Gamma = 2.2|Left = 0"
    "|MPP = 0.263158|ScanScope ID = alpha5|StripeWidth = 4096|Top = 0"
)
IMAGE_FORMAT = "Aperio Image Format\r\n320x240 [0,0 320x240] (64x64) JPEG/RGB Q=70|AppMag = 40|MPP = 0.253910"


def _svs(text: str | bytes, **more: Any):
    return lambda folder: write_pages(folder / "slide.svs", Page(pixels=BASE, description=text, **more))


def _tiff(across: float, down: float | None = None, **more: Any):
    page = Page(pixels=BASE, density=(across, down or across), **more)
    return lambda folder: write_pages(folder / "slide.tif", page)


def _ratio(numerator: int, denominator: int):
    """A resolution that tifffile would not write."""

    def write(folder: Path) -> Path:
        path = _tiff(40_000)(folder)
        with tifffile.TiffFile(path) as file:
            places = [file.pages.first.tags[tag].valueoffset for tag in (282, 283)]
        data = bytearray(path.read_bytes())
        for place in places:
            struct.pack_into("<II", data, place, numerator, denominator)
        path.write_bytes(data)
        return path

    return write


def _ome(**more: Any):
    return lambda folder: write_ome(folder / "slide.ome.tif", [BASE], tile=64, **more)


CASES = [
    Case(
        source="tifffile#181, tiffslide#65",
        met="KFBIO's SVS holds bytes that are no text, and its MPP was lost",
        write=_svs(KFBIO),
        expect=Read(levels=SIDES, mpp=0.48449, pixels=BASE),  # OpenSlide's value
    ),
    Case(
        source="ImageDePHI#141",
        met="Aperio's Segue writes its first line in another way",
        write=_svs(SEGUE),
        expect=Read(levels=SIDES, mpp=0.263158, pixels=BASE),
    ),
    Case(
        source="openslide-python#313",
        met="an SVS that begins with Aperio Image Format (its black stripes are not rebuilt)",
        write=_svs(IMAGE_FORMAT),
        expect=Read(levels=SIDES, mpp=0.25391, pixels=BASE),
    ),
    Case(
        source="cucim#529",
        met="an SVS without resolution tags was 1 um a pixel, whatever its MPP",
        write=_svs(svs_text(WIDTH, HEIGHT, "AppMag = 20|MPP = 0.4990"), density=(1, 1), unit="NONE"),
        expect=Read(levels=SIDES, mpp=0.499, pixels=BASE),
    ),
    Case(
        source="large_image PR#1376",
        met="bad values of magnification ended in an error: here zeros, beside tags that say the scale",
        write=_svs(svs_text(WIDTH, HEIGHT, "AppMag = 0|MPP = 0"), density=(40_000, 40_000)),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE, warns=None),  # 0 says nothing
    ),
    Case(
        source="wsic PR#58",
        met="an SVS without AppMag and MPP, as converters write it",
        write=_svs(svs_text(WIDTH, HEIGHT, "Filename = 1")),
        expect=Refused(reason=RejectReason.NO_MPP, says="mpp"),
    ),
    Case(
        source="wsic PR#58",
        met="an SVS without AppMag and MPP: the user states the scale",
        write=_svs(svs_text(WIDTH, HEIGHT, "Filename = 1")),
        mpp=0.5,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="cucim#333, cucim#400",
        met="44,185 px a centimetre were called 1 um",
        write=_tiff(44_185),
        expect=Read(levels=SIDES, mpp=10_000 / 44_185, pixels=BASE),
    ),
    Case(
        source="openslide PR#516",
        met="pixels an inch in a generic TIFF",
        write=_tiff(101_600, unit="INCH"),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE),
    ),
    Case(
        source="openslide PR#349",
        met="another resolution across than down",
        write=_tiff(40_000, 20_000),
        expect=Read(levels=SIDES, mpp=(0.25, 0.5), pixels=BASE),
    ),
    Case(
        source="pyvips#552",
        met="saved with a tenth of the pixels a centimetre: 25 um",
        write=_tiff(396.0396),
        expect=Refused(reason=RejectReason.ABSURD_MPP, says=r"25\.25.*mpp"),
    ),
    Case(
        source="libvips#1856",
        met="converted from SVS, the TIFF's resolution is 1",
        write=_tiff(1),
        expect=Refused(reason=RejectReason.ABSURD_MPP, says="mpp"),
    ),
    Case(
        source="libvips#1856",
        met="converted from SVS, the TIFF's resolution is 1: the user states the scale",
        write=_tiff(1),
        mpp=0.2525,
        expect=Read(levels=SIDES, mpp=0.2525, pixels=BASE),
    ),
    Case(
        source="bioformats PR#3535",
        met="Olympus Stream writes 72 dots an inch, and 353 um a pixel came of it",
        write=_tiff(72, unit="INCH"),
        expect=Refused(reason=RejectReason.NO_MPP, says="mpp"),
    ),
    Case(
        source="large_image PR#1062",
        met="bogus resolutions were believed: here over zero",
        write=_ratio(1, 0),
        expect=Refused(reason=RejectReason.NO_MPP, says="mpp"),
    ),
    Case(
        source="large_image PR#1062",
        met="bogus resolutions were believed: here zero",
        write=_ratio(0, 1),
        expect=Refused(reason=RejectReason.NO_MPP, says="mpp"),
    ),
    Case(
        source="bioformats PR#3676",
        met="ImageJ's unit=cm beside centimetres in the tags was counted twice",
        write=_tiff(40_000, description="ImageJ=1.53c\nunit=cm\nmin=0.0\nmax=255.0\n"),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE),
    ),
    Case(
        source="bioformats PR#3575",
        met="PhysicalSizeXUnit is pixel, as conversions of BDV have it",
        write=_ome(size=1.0, unit="pixel"),
        expect=Refused(reason=RejectReason.NO_MPP, says="mpp"),
    ),
    Case(
        source="cucim#333",
        met="a float where TIFF has a fraction, in pixels a centimetre",
        write=lambda folder: _floats(folder),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE),
    ),
]


def _floats(folder: Path) -> Path:
    """XResolution and YResolution as FLOAT, which fits into the entry."""
    path = _tiff(40_000)(folder)
    bits = struct.unpack("<I", struct.pack("<f", 40_000.0))[0]
    for tag in (282, 283):
        change_entry(path, tag, kind=11, count=1, value=bits)
    return path


@parametrised(CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
