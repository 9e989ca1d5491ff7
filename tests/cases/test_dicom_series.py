"""DICOM series as scanners and converters write them, with what the standard asks for missing, odd or abundant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydicom import dcmread
from pydicom.uid import UID

from tests.cases.case import Case, Read, Refused, check, parametrised
from tests.cases.pages import drawn, smaller
from tests.slides.dicoms import EXPLICIT, JPEG_2000, Writing, write_picture, write_pyramid
from wsi.errors import RejectReason
from wsi.records.slides import Choice

BASE = drawn()
SIDES = [(320, 240), (160, 120)]
RAW = Writing(syntax=EXPLICIT, photometric="RGB")


def _pyramid(folder: Path, how: Writing = RAW, levels: int = 2) -> Path:
    write_pyramid(folder, BASE, levels, how)
    return folder


def _with(**more: Any):
    """A pyramid whose files hold other elements; None takes one away."""
    return lambda folder: _pyramid(folder, replace(RAW, more=more))


def _changed(path: Path, change: Any) -> None:
    file = dcmread(path)
    change(file)
    file.save_as(path, enforce_file_format=True)


def _empty_origin(folder: Path) -> Path:
    return _with(TotalPixelMatrixOriginSequence=[])(folder)


def _no_flavour(folder: Path) -> Path:
    return _with(ImageType=["DERIVED", "PRIMARY"])(folder)


def _other_tiles(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, RAW)
    write_picture(folder / "1.dcm", smaller(BASE, 2), replace(RAW, tile=48, spacing=(0.001, 0.001)))
    return folder


def _resampled(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, RAW)
    kind = ["ORIGINAL", "PRIMARY", "VOLUME", "RESAMPLED"]
    write_picture(folder / "1.dcm", smaller(BASE, 2), replace(RAW, spacing=(0.001, 0.001), more={"ImageType": kind}))
    return folder


def _thumbnail_without_spacing(folder: Path) -> Path:
    _pyramid(folder)
    write_picture(folder / "2.dcm", smaller(BASE, 4), replace(RAW, spacing=None, kind="THUMBNAIL"))
    return folder


def _thumbnail_beside_level(folder: Path) -> Path:
    _pyramid(folder, levels=3)
    write_picture(
        folder / "3.dcm", smaller(BASE, 4)[:, :78], replace(RAW, spacing=(0.00201, 0.00201), kind="THUMBNAIL")
    )
    return folder


def _padded(folder: Path) -> Path:
    """Whole tiles of 64 px at the edges of every level, so that 96 x 64 px take 128 x 64, and 48 x 32 take 64 x 64."""
    base = np.pad(BASE, ((0, 16), (0, 64), (0, 0)), constant_values=255)  # 384 x 256
    write_picture(folder / "0.dcm", base, RAW)
    quarter = np.pad(smaller(base, 4), ((0, 0), (0, 32), (0, 0)), constant_values=255)  # 128 x 64, of 96 x 64
    write_picture(folder / "1.dcm", smaller(base, 2), replace(RAW, spacing=(0.001, 0.001)))
    write_picture(folder / "2.dcm", quarter, replace(RAW, spacing=(0.002, 0.002)))
    eighth = np.pad(smaller(base, 8), ((0, 32), (0, 16), (0, 0)), constant_values=255)
    sixteenth = np.pad(smaller(base, 16), ((0, 48), (0, 40), (0, 0)), constant_values=255)
    write_picture(folder / "3.dcm", sixteenth, replace(RAW, spacing=(0.008, 0.008)))
    write_picture(folder / "4.dcm", eighth, replace(RAW, spacing=(0.004, 0.004)))
    return folder


def write_dicomdir(folder: Path) -> None:
    """A DICOM file of the class that lists others."""
    (folder / "DICOMDIR").write_bytes((folder / "0.dcm").read_bytes())

    def as_directory(file: Any) -> None:
        file.file_meta.MediaStorageSOPClassUID = file.SOPClassUID = UID("1.2.840.10008.1.3.10")
        del file.PixelData, file.ImageType

    _changed(folder / "DICOMDIR", as_directory)


def _dicomdir(folder: Path) -> Path:
    _pyramid(folder)
    write_dicomdir(folder)
    return folder


def _without_preamble(folder: Path) -> Path:
    """As old archives store it: neither the preamble nor the file's meta information."""
    write_picture(folder / "0.dcm", BASE, RAW)
    data = (folder / "0.dcm").read_bytes()
    first = data.index(bytes.fromhex("08000800"), 132)
    (folder / "0.dcm").write_bytes(data[first:])
    return folder / "0.dcm"


def _cut(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, Writing())
    data = (folder / "0.dcm").read_bytes()
    (folder / "0.dcm").write_bytes(data[: len(data) * 2 // 3])
    return folder


def _one_plane_of_three(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, replace(RAW, more={"TotalPixelMatrixFocalPlanes": 3}))
    return folder


def _same_size(folder: Path) -> Path:
    _pyramid(folder)
    write_picture(folder / "2.dcm", smaller(BASE, 2), replace(RAW, spacing=(0.001, 0.001), kind="THUMBNAIL"))
    return folder


def _three_d(folder: Path) -> Path:
    return _pyramid(folder, replace(RAW, sparse=True, more={"DimensionOrganizationType": "3D"}))


def _fewer_fragments(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, Writing())

    def claim(file: Any) -> None:
        file.NumberOfFrames = int(file.NumberOfFrames)
        file.TotalPixelMatrixColumns = 384
        file.NumberOfFrames = 24

    _changed(folder / "0.dcm", claim)
    return folder


def _odd_length(folder: Path) -> Path:
    """Uncompressed pixels of odd length, without the byte that makes them even."""
    picture = drawn()[:65, :65]
    write_picture(folder / "0.dcm", picture, replace(RAW, tile=65))
    data = bytearray((folder / "0.dcm").read_bytes())
    odd = 65 * 65 * 3
    at = data.rindex(bytes.fromhex("e07f1000"))
    data[at + 8 : at + 12] = odd.to_bytes(4, "little")
    (folder / "0.dcm").write_bytes(bytes(data[: at + 12 + odd]))
    return folder


def _lossless(folder: Path) -> Path:
    return _pyramid(folder, Writing(syntax=JPEG_2000, photometric="YBR_RCT"))


def _sparse(folder: Path) -> Path:
    write_picture(folder / "0.dcm", BASE, replace(RAW, sparse=True, tiles=[0, 1, 2, 7, 8, 13]))
    return folder


def _long_spacing(folder: Path) -> Path:
    """The value is put in by hand, since pydicom refuses to write it."""
    write_picture(folder / "0.dcm", BASE, replace(RAW, spacing=(0.00041, 0.00041)))
    data = (folder / "0.dcm").read_bytes()
    value = b"4.564125969876768E-4\\4.550625711035267E-4 "
    old = b"0.00041\\0.00041 "
    at = data.index(old)
    grown = len(value) - len(old)
    start = data.rindex(bytes.fromhex("28003000"), 0, at)
    new = bytearray(data)
    new[at : at + len(old)] = value
    new[start + 6 : start + 8] = len(value).to_bytes(2, "little")
    place = start
    for tag in ("feff00e0", "28001091", "feff00e0", "00522992"):  # what is around it grows by as much, inmost first
        place = new.rindex(bytes.fromhex(tag), 0, place)
        length = place + (4 if tag == "feff00e0" else 8)
        size = int.from_bytes(new[length : length + 4], "little")
        if size != 0xFFFFFFFF:
            new[length : length + 4] = (size + grown).to_bytes(4, "little")
    (folder / "0.dcm").write_bytes(new)
    return folder


SPARSE = np.full_like(BASE, 255)
for _tile in (0, 1, 2, 7, 8, 13):
    _y, _x = (64 * side for side in divmod(_tile, 5))
    SPARSE[_y : _y + 64, _x : _x + 64] = BASE[_y : _y + 64, _x : _x + 64]


CASES = [
    Case(
        source="wsidicom#155",
        met="an empty TotalPixelMatrixOriginSequence made slides impossible to open",
        write=_empty_origin,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),  # the place on the glass is not needed
    ),
    Case(
        source="dicom-microscopy-viewer#31",
        met="Orthanc's converter leaves FrameOfReferenceUID empty",
        write=_with(FrameOfReferenceUID=""),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="slim#86",
        met="wsi2dcm writes no OpticalPathSequence",
        write=_with(OpticalPathSequence=None),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="slim#86",
        met="WSI2DICOM's ImageType has two values: nothing says whether it is the slide or its label",
        write=_no_flavour,
        # PS3.3 C.8.12.4 demands the third value. A label must not be read as a slide, so this is refused, truly.
        expect=Refused(reason=RejectReason.UNSUPPORTED_FORMAT, says="ImageType"),
    ),
    Case(
        source="highdicom#337",
        met="TILED_FULL without DimensionIndexSequence was refused",
        write=_pyramid,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="idc-wsi-conversion#4",
        met="no offset table at all, neither basic nor extended",
        write=lambda folder: _pyramid(folder, Writing(table="none")),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, tolerance=6),
    ),
    Case(
        source="pydicom#1178",
        met="an extended offset table instead of the basic one",
        write=lambda folder: _pyramid(folder, Writing(table="extended")),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, tolerance=6),
    ),
    Case(
        source="openslide#484",
        met="TILED_SPARSE with places without a frame: reading failed there",
        write=_sparse,
        expect=Read(levels=SIDES[:1], mpp=0.5, pixels=SPARSE),  # libdicom PR#65: no frame is no pixels
    ),
    Case(
        source="wsidicom#163",
        met="levels with tiles of other sizes were dropped",
        write=_other_tiles,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="wsidicom PR#116",
        met="frames of two optical paths were counted as tiles of one",
        write=lambda folder: _pyramid(folder, replace(RAW, paths=2)),
        expect=Refused(reason=RejectReason.OPTICAL_PATHS, says="optical path"),
    ),
    Case(
        source="wsidicom PR#116",
        met="frames of two optical paths were counted as tiles of one: one is chosen",
        write=lambda folder: _pyramid(folder, replace(RAW, paths=2)),
        choice=Choice(optical_path="2"),
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="wsidicomizer#114",
        met="ORIGINAL\\PRIMARY\\VOLUME\\RESAMPLED: OpenSlide saw no smaller levels",
        write=_resampled,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="wsidicomizer#130",
        met="a THUMBNAIL without PixelSpacing ended in an unexpected error",
        write=_thumbnail_without_spacing,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="slim#175",
        met="a THUMBNAIL of nearly the size of a level: levels out of order",
        write=_thumbnail_beside_level,
        expect=Read(levels=[*SIDES, (80, 60)], mpp=0.5, pixels=BASE),
    ),
    Case(
        source="slim#296",
        met="a series of one level only",
        write=lambda folder: _pyramid(folder, levels=1),
        expect=Read(levels=SIDES[:1], mpp=0.5, pixels=BASE),
    ),
    Case(
        source="openslide PR#576, libdicom#79",
        met="Philips fills the last tiles of each level, and the image jumped between levels",
        write=_padded,
        # The scale between levels is that of their PixelSpacing; sizes are those of level 0 divided by it.
        expect=Read(levels=[(384, 256), (192, 128), (96, 64), (48, 32), (24, 16)], mpp=0.5),
    ),
    Case(
        source="wsidicom#95",
        met="a DICOMDIR among the files of the series",
        write=_dicomdir,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE, warns="left out"),
    ),
    Case(
        source="slim#295",
        met="a THUMBNAIL of the same size as a level",
        write=_same_size,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="pydicom#340, pydicom#503",
        met="DICOM without preamble and meta information, as old archives store it",
        write=_without_preamble,
        # PS3.10 demands both; without them nothing says how the rest is packed.
        expect=Refused(reason=RejectReason.UNSUPPORTED_FORMAT, says="DICOM without the header"),
    ),
    Case(
        source="pydicom#1799",
        met="a file that ends before its last frame lost its pixels with a warning",
        write=_cut,
        expect=Refused(reason=RejectReason.TRUNCATED, says="cut short"),
    ),
    Case(
        source="wsidicom#190",
        met="each focal plane in a file of its own, which says how many planes there are in all",
        write=_one_plane_of_three,
        expect=Read(levels=SIDES[:1], mpp=0.5, pixels=BASE),  # frames are counted in each file (WG-26, 2025)
    ),
    Case(
        source="openslide PR#439",
        met="Leica's DimensionOrganizationType is 3D and its frames say where they lie",
        write=_three_d,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="openslide#526",
        met="lossless JPEG 2000 was not read",
        write=_lossless,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
    Case(
        source="wsidicom#97",
        met="2,040 frames claimed, 2,023 there",
        write=_fewer_fragments,
        expect=Refused(reason=RejectReason.DAMAGED, says="frames"),
    ),
    Case(
        source="wsidicom#174",
        met="uncompressed pixels of odd length without the byte that fills them up",
        write=_odd_length,
        expect=Read(levels=[(65, 65)], mpp=0.5, pixels=BASE[:65, :65]),
    ),
    Case(
        source="bioformats#4376, libdicom#105",
        met="Bio-Formats writes PixelSpacing in more than the 16 characters that a DS has, with an exponent",
        write=_long_spacing,
        expect=Read(levels=SIDES[:1], mpp=(0.4550625711035267, 0.4564125969876768), pixels=BASE),
    ),
    Case(
        source="tiffslide PR#80",
        met="the two values of PixelSpacing were taken for across and down",
        write=lambda folder: _pyramid(folder, replace(RAW, spacing=(0.0005, 0.00025)), levels=1),
        expect=Read(levels=SIDES[:1], mpp=(0.25, 0.5), pixels=BASE),  # PS3.3 10.7.1.3: between rows first
    ),
    Case(
        source="OCT-Converter#128",
        met="PixelSpacing stands beside the functional groups, or in them, by converter: here beside",
        write=_with(SharedFunctionalGroupsSequence=None, PixelSpacing=["0.0005", "0.00025"]),
        expect=Read(levels=SIDES, mpp=(0.25, 0.5), pixels=BASE, warns=None),
    ),
    Case(
        source="cornerstoneWADOImageLoader#261",
        met="ImagerPixelSpacing was taken for PixelSpacing, a matter of safety",
        write=_with(SharedFunctionalGroupsSequence=None, ImagerPixelSpacing=["0.0005", "0.0005"]),
        expect=Refused(reason=RejectReason.NO_MPP, says="mpp"),  # it is measured at the detector
    ),
    Case(
        source="wsidicomizer#127",
        met="PixelSpacing a thousand times too large: 250 mm",
        write=lambda folder: _pyramid(folder, replace(RAW, spacing=(250.0, 250.0))),
        expect=Refused(reason=RejectReason.ABSURD_MPP, says="mpp"),
    ),
    Case(
        source="wsidicomizer#66",
        met="an RGB slide without a colour profile, which the standard demands",
        write=_pyramid,
        expect=Read(levels=SIDES, mpp=0.5, pixels=BASE),
    ),
]


@parametrised(CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
