"""Formats that OpenSlide reads: MIRAX, Philips, Ventana, and NDPI."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from imagecodecs import jpeg_encode

from tests.cases.case import Case, Read, Refused, check, parametrised
from tests.cases.pages import drawn, smaller
from tests.cases.philips import write_philips
from tests.slides import damage
from tests.slides.mirax import SIDE, write_mirax
from tests.slides.ndpi import ndpi_levels, write_ndpi
from wsi.errors import RejectReason

BASE = drawn(512, 512)
NDPI = ndpi_levels(1024, 512, slice_width=256)[0].pixels


def _mirax(folder: Path) -> Path:
    return write_mirax(folder / "slide.mrxs", BASE)


def _without_data(folder: Path) -> Path:
    path = _mirax(folder)
    (folder / "slide" / "Data0000.dat").unlink()
    return path


def _zeroed_image(folder: Path) -> Path:
    """One of the eight images of the camera is zeros."""
    path = write_mirax(folder / "slide.mrxs", np.tile(BASE, (1, 2, 1)))
    first = len(jpeg_encode(BASE[:SIDE, :SIDE], level=90))
    damage(folder / "slide" / "Data0000.dat", lambda data: data.__setitem__(slice(0, first), bytes(first)))
    return path


def _keyless_lines(folder: Path) -> Path:
    path = _mirax(folder)
    slidedat = folder / "slide" / "Slidedat.ini"
    text = slidedat.read_text()
    slidedat.write_text(text.replace("SLIDE_VERSION = 1.9\n", "SLIDE_VERSION = 1.9\n = False\n = True\n"))
    return path


def _other_version(folder: Path) -> Path:
    path = _mirax(folder)
    slidedat = folder / "slide" / "Slidedat.ini"
    slidedat.write_text(slidedat.read_text().replace("SLIDE_VERSION = 1.9", "SLIDE_VERSION = 01.03"))
    return path


def _philips(folder: Path, **more: tuple[str, str]) -> Path:
    return write_philips(folder / "slide.tiff", [BASE, smaller(BASE, 2)], **more)


def _ndpi(folder: Path, height: int = 512) -> Path:
    return write_ndpi(folder / "slide.ndpi", ndpi_levels(1024, height, slice_width=256))


def _without_rows_per_strip(folder: Path) -> Path:
    """Every directory's tag 278 becomes one that nobody knows."""
    path = _ndpi(folder)
    entry = (278).to_bytes(2, "little") + b"\x04\0\x01\0\0\0"
    return damage(path, lambda data: data.__setitem__(slice(None), data.replace(entry, b"\xff\x7e" + entry[2:])))


def _short_list(folder: Path) -> Path:
    base, *others = ndpi_levels(1024, 512, slice_width=256)
    return write_ndpi(folder / "slide.ndpi", [replace(base, starts="one missing"), *others])


CASES = [
    Case(
        source="slideflow#323, openslide#251",
        met="an MRXS without one of its .dat files: errors of every kind",
        write=_without_data,
        expect=Refused(reason=RejectReason.MISSING_FILES, says=r"Data0000\.dat"),
    ),
    Case(
        source="wsidicomizer#146",
        met="after one broken image of an MRXS every later read failed",
        write=_zeroed_image,
        expect=Read(path="scratch", mpp=0.5, warns="decoded"),
    ),
    Case(
        source="openslide#255",
        met="Slidedat.ini has lines without a key, as a scanner wrote them",
        write=_keyless_lines,
        # OpenSlide refuses them, 3DHISTECH's viewer does not: read, or refused with what is wrong.
        expect=Read(path="scratch", mpp=0.5, warns=None),
    ),
    Case(
        source="openslide PR#69",
        met="SLIDE_VERSION is 01.03",
        write=_other_version,
        expect=Read(path="scratch", mpp=0.5),
    ),
    Case(
        source="tiffslide#77, openslide#137",
        met="Philips TIFF says its scale in XML alone",
        write=lambda folder: _philips(folder, spacing=("0.000243094", "0.000243094")),
        expect=Read(path="scratch", mpp=0.243094, levels=[(512, 512), (256, 256)]),
    ),
    Case(
        source="tiffslide PR#80",
        met="Philips' spacing between rows comes first, and was taken for across",
        write=lambda folder: _philips(folder, spacing=("0.0005", "0.00025")),
        expect=Read(path="scratch", mpp=(0.25, 0.5)),
    ),
    Case(
        source="tifffile#41",
        met="an NDPI has the levels that the file holds; other readers make some up between them",
        write=_ndpi,
        expect=Read(levels=[(1024, 512), (256, 128), (64, 32)], mpp=0.25, pixels=NDPI, tolerance=6),
    ),
    Case(
        source="libvips#873",
        met="an NDPI without RowsPerStrip, which OpenSlide demands",
        write=_without_rows_per_strip,
        expect=Read(levels=[(1024, 512), (256, 128), (64, 32)], mpp=0.25, pixels=NDPI, tolerance=6),
    ),
    Case(
        source="bioformats#3847",
        met="the list of restart markers is shorter than the image needs",
        write=_short_list,
        expect=Read(path="scratch", mpp=0.25, warns="does not list"),  # OpenSlide looks for the markers itself
    ),
    Case(
        source="bioformats#4082",
        met="wrong pixels at the bottom, where the last row of blocks is not full",
        write=lambda folder: _ndpi(folder, height=500),
        expect=Read(mpp=0.25, pixels=ndpi_levels(1024, 500, slice_width=256)[0].pixels, tolerance=6),
    ),
]


@parametrised(CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
