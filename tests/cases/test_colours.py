"""Colours that the container and the packed tile tell differently, or that few writers use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import simplejpeg
import tifffile
from pydicom import dcmread
from pydicom.encaps import encapsulate

from tests.cases.case import Case, Read, Refused, check, parametrised
from tests.cases.pages import Page, drawn, smaller, svs_text, write_pages
from tests.slides.dicoms import EXPLICIT, JPEG_2000, JPEG_2000_LOSSY, Writing, write_annotations, write_picture
from tests.slides.tiffs import join_components, write_aperio_jpeg2000, ycbcr_planes
from wsi.errors import RejectReason
from wsi.slide.codecs.samples import convert_ycbcr

BASE = drawn(128, 128)
SIDES = [(128, 128)]
DENSITY = (40_000.0, 40_000.0)
HALVED = ycbcr_planes(128, halved=True)
FULL = np.stack(ycbcr_planes(128, halved=False), axis=-1)
SEEN = convert_ycbcr(FULL)


def _frames(folder: Path, frames: list[bytes], syntax: str, photometric: str, tile: int = 128) -> Path:
    """A DICOM slide of frames that are packed already, 128 px wide and high."""
    write_picture(folder / "0.dcm", BASE, Writing(syntax=EXPLICIT, photometric="RGB", tile=tile))
    file = dcmread(folder / "0.dcm")
    file.file_meta.TransferSyntaxUID = syntax
    file.PhotometricInterpretation = photometric
    file.PixelData = encapsulate(frames)
    file["PixelData"].VR = "OB"
    file["PixelData"].is_undefined_length = True
    file.save_as(folder / "0.dcm", enforce_file_format=True)
    return folder


def _jpeg2000(pixels: Any, **how: Any) -> bytes:
    lossless: dict[str, Any] = {"level": 0, "codecformat": "j2k", "reversible": True, "mct": False}
    return bytes(imagecodecs.jpeg2k_encode(np.ascontiguousarray(pixels), **(lossless | how)))


def _jpeg_tiles(path: Path, *, description: str | None = None, said: tuple[int, int] = (1, 1)) -> Path:
    """Tiles that are whole JPEGs in YCbCr with chroma in full, without JPEGTables; `said` is YCbCrSubSampling."""
    corners = [(y, x) for y in (0, 64) for x in (0, 64)]
    tiles = [np.ascontiguousarray(BASE[y : y + 64, x : x + 64]) for y, x in corners]
    with tifffile.TiffWriter(path) as writer:
        writer.write(
            (simplejpeg.encode_jpeg(tile, 95, "RGB", "444") for tile in tiles),
            shape=BASE.shape,
            dtype=np.uint8,
            tile=(64, 64),
            photometric="ycbcr",
            subsampling=said,
            compression="jpeg",
            resolution=DENSITY,
            resolutionunit="CENTIMETER",
            description=description,
            metadata=None,
        )
    return path


def _aperio(folder: Path, compression: int, tile: bytes) -> Path:
    return write_aperio_jpeg2000(folder / "slide.svs", [tile], compression=compression, side=128, across=1)


def _mixed(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, Writing())
    how = Writing(syntax=JPEG_2000, photometric="YBR_RCT", spacing=(0.001, 0.001))
    write_picture(folder / "1.dcm", smaller(BASE, 2), how)
    write_annotations(folder / "2.dcm")
    return folder


CASES = [
    Case(
        source="openslide#772, openslide#646",
        met="YBR_ICT over a code stream without that transform, of Aperio's 33003: salmon and blue",
        write=lambda folder: _frames(folder, [_jpeg2000(FULL)], JPEG_2000_LOSSY, "YBR_ICT"),
        expect=Read(levels=SIDES, mpp=0.5, pixels=SEEN),
    ),
    Case(
        source="openslide PR#743",
        met="YBR_ICT over YCbCr of halved chroma (test slide JP2K-33003-1)",
        write=lambda folder: _frames(folder, [join_components(HALVED)], JPEG_2000_LOSSY, "YBR_ICT"),
        expect=Read(levels=SIDES, mpp=0.5, pixels=SEEN, tolerance=4),
    ),
    Case(
        source="openslide#646",
        met="YBR_ICT over a code stream with that transform: wrong colours",
        write=lambda folder: _frames(
            folder, [_jpeg2000(BASE, level=60, reversible=False, mct=True)], JPEG_2000_LOSSY, "YBR_ICT"
        ),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, tolerance=2),
    ),
    Case(
        source="openslide#646, openslide#662",
        met="YBR_RCT was refused",
        write=lambda folder: _frames(folder, [_jpeg2000(BASE, mct=True)], JPEG_2000, "YBR_RCT"),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="wsidicomizer#158",
        met="RGB over a code stream that holds the transform",
        write=lambda folder: _frames(folder, [_jpeg2000(BASE, mct=True)], JPEG_2000, "RGB"),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),  # the codec turns it back, whatever is said
    ),
    Case(
        source="cornerstoneWADOImageLoader#308",
        met="YBR_FULL over JPEG 2000 without a transform",
        write=lambda folder: _frames(folder, [_jpeg2000(FULL)], JPEG_2000, "YBR_FULL"),
        expect=Read(levels=SIDES, mpp=0.5, pixels=SEEN),
    ),
    Case(
        source="libdicom#80",
        met="Bio-Formats says RGB over JPEG frames of YCbCr with halved chroma: pink",
        write=lambda folder: _frames(
            folder, [simplejpeg.encode_jpeg(BASE, 95, "RGB", "420")], "1.2.840.10008.1.2.4.50", "RGB"
        ),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, tolerance=6),
    ),
    Case(
        source="cucim#17",
        met="Aperio's 33003 (YCbCr in JPEG 2000) came out in wrong colours or black",
        write=lambda folder: _aperio(folder, 33003, join_components(HALVED)),
        expect=Read(levels=SIDES, mpp=0.5, pixels=SEEN, tolerance=4),
    ),
    Case(
        source="fastslide#11",
        met="J2K/YUV16 of an SVS was handed out as YCbCr",
        write=lambda folder: _aperio(folder, 33003, _jpeg2000(FULL)),
        expect=Read(levels=SIDES, mpp=0.5, pixels=SEEN),
    ),
    Case(
        source="cucim#68",
        met="uncompressed tiles were not supported",
        write=lambda folder: write_pages(folder / "slide.tif", Page(pixels=BASE, density=DENSITY, compression=None)),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE),
    ),
    Case(
        source="bio-formats-examples PR#136",
        met="tags say that chroma is halved, and the tiles hold it in full",
        write=lambda folder: _jpeg_tiles(folder / "slide.tif", said=(2, 2)),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE, tolerance=4),
    ),
    Case(
        source="opentile PR#10",
        met="tiles that are whole JPEGs, without tables in the file",
        write=lambda folder: _jpeg_tiles(folder / "slide.tif"),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE, tolerance=3),
    ),
    Case(
        source="bioformats#3711",
        met="YCbCr that is not packed as JPEG came out pink",
        write=lambda folder: write_pages(
            folder / "slide.tif",
            Page(pixels=FULL, density=DENSITY, compression=None, options=(("photometric", "ycbcr"),)),
        ),
        expect=Refused(reason=RejectReason.UNSUPPORTED_PIXELS, says="YCbCr"),
    ),
    Case(
        source="rse-panimg#39",
        met="an SVS in RGB and its copy in YCbCr are the same colours",
        write=lambda folder: _jpeg_tiles(
            folder / "slide.svs", description=svs_text(128, 128, "AppMag = 20|MPP = 0.25")
        ),
        expect=Read(levels=SIDES, mpp=0.25, pixels=BASE, tolerance=4),
    ),
    Case(
        source="openslide#662",
        met="levels in JPEG and in JPEG 2000 of one series, and annotations among them",
        write=_mixed,
        expect=Read(levels=[(128, 128), (64, 64)], mpp=0.5, pixels=BASE, tolerance=6, warns="left out"),
    ),
]


@parametrised(CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
