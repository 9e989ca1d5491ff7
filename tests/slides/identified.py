"""Slides that say whose they are, in every place that their format has for it, and that carry a label and a macro."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import tifffile
from numpy.typing import NDArray
from pydicom import Dataset
from pydicom.dataset import PrivateBlock

from tests.slides import encode_tile, he_tissue
from tests.slides.dicoms import Writing, tissue, write_annotations, write_picture, write_pyramid
from tests.slides.dual import IDC_NAMES, Tiff, write_dual_series
from tests.slides.ndpi import ndpi_levels, write_ndpi
from tests.slides.ome import ome_pyramid, write_ome

SAID: Final = "Doeringer"  #: the patient; in every place below
SERIAL: Final = "SS1302"  #: of the scanner
_MOMENT: Final = "2011:08:29 09:53:17"
SECRETS: Final = tuple(
    secret.encode() for secret in (SAID, SERIAL, _MOMENT, "20110829", "08/29/11", "2011-08-29", "b414003d", "S11-4711")
)


@dataclass(frozen=True, kw_only=True)
class Identified:
    """A slide on disk, and what may not be found in it later."""

    path: Path  #: its file, or its folder
    pictures: tuple[bytes, ...]  #: bytes of the label's and the macro's pixels, as they lie in the file
    images: int  #: pictures beside the slide
    files: int = 0  #: other files beside it
    secrets: tuple[bytes, ...] = SECRETS


def write_identified_svs(
    folder: Path, *, big: bool = False, byte_order: Literal["<", ">"] = "<", levels: Sequence[int] = (1, 4)
) -> Identified:
    """Two levels, thumbnail, label and macro, each with Aperio's description and some tags of text."""
    path = folder / f"{SAID}.svs"
    pixels = he_tissue(np.random.default_rng(0), 900, 1200)
    head = "Aperio Image Library v12.0.15\r\n"
    size = f"{head}1300x1000 [50,40 1200x900] (240x240) JPEG/RGB Q=70"
    facts = (
        f"|AppMag = 20|StripeWidth = 2040|ScanScope ID = {SERIAL}|Filename = {SAID}|Date = 08/29/11|Time = 09:59:15"
        f"|User = b414003d-95c6|MPP = 0.4990|Left = 25.691574|Title = S11-4711|Barcode = {SAID}|ImageID = 1004486"
    )
    said: dict[str, Any] = {
        "datetime": _MOMENT,
        "software": f"scan of {SAID}",
        "extratags": [
            *((tag, 2, 0, f"{SAID} {tag}", True) for tag in (269, 285, 315, 316, 33432, 42016, 55000)),
            (65000, 7, 12, SAID.encode().ljust(12), True),
        ],
    }
    with tifffile.TiffWriter(path, bigtiff=big, byteorder=byte_order) as writer:
        for number, downsample in enumerate(levels):
            write_level(writer, pixels[::downsample, ::downsample], f"{size}{facts}", **said)
            if number == 0:
                thumbnail = np.ascontiguousarray(pixels[::8, ::8])
                _strips(writer, thumbnail, f"{head}1200x900 -> 150x113 - |Filename = {SAID}", 0, **said)
        label = _strips(writer, noise(96, 128), f"{head}label 128x96|Barcode = {SAID}", 1, **said)
        macro = _strips(writer, noise(96, 300), f"{head}macro 300x96", 9, **said)
    return Identified(path=path, pictures=(label, macro), images=2)


def write_identified_tiff(folder: Path, *, big: bool = False) -> Identified:
    """A pyramid with a label behind it, and a description, XMP and tags of text on each page."""
    path = folder / f"{SAID}.tif"
    pixels = he_tissue(np.random.default_rng(0), 700, 900)
    xmp = f"<x:xmpmeta>{SAID} 2011-08-29</x:xmpmeta>".encode()
    said: dict[str, Any] = {
        "datetime": _MOMENT,
        "software": SERIAL,
        "extratags": [(700, 1, len(xmp), xmp, True), (315, 2, 0, SAID, True), (270, 2, 0, f"{SAID} S11-4711", True)],
        "resolution": (20_000, 20_000),
        "resolutionunit": "CENTIMETER",
    }
    with tifffile.TiffWriter(path, bigtiff=big) as writer:
        for downsample in (1, 2, 4):
            kind = int(downsample > 1)
            write_level(writer, pixels[::downsample, ::downsample], None, subfiletype=kind, **said)
        label = _strips(writer, noise(90, 120), None, 0, **said)
    return Identified(path=path, pictures=(label,), images=1)


def write_identified_ndpi(folder: Path) -> Identified:
    """With the macro picture that shows the label, and Hamamatsu's list of properties."""
    path = folder / f"{SAID}.ndpi"
    properties = f"Created=2011-08-29\r\nNDP.S/N={SERIAL}\r\nSlide={SAID}\r\n".encode()
    texts = ((305, SAID.encode()), (306, _MOMENT.encode()), (65427, b"S11-4711"), (65442, SERIAL.encode()))
    macro = noise(64, 192)
    levels = [
        replace(
            level,
            texts=(*texts, (65449, properties)),
            comment=f"of {SAID}".encode(),
            **({"pixels": macro} if level.lens < 0 else {}),
        )
        for level in ndpi_levels()
    ]
    write_ndpi(path, levels)
    return Identified(path=path, pictures=_last_jpegs(path, 2), images=2)


def write_identified_ome(folder: Path, *, first: bool = False, layout: Any = "interleaved") -> Identified:
    """A label and a macro beside the slide, before it if `first`; names, dates and free text in the XML."""
    path = folder / f"{SAID}.ome.tif"
    before = "first " if first else ""
    label, macro = noise(64, 128), noise(64, 192)
    write_ome(
        path,
        ome_pyramid(),
        layout=layout,
        metadata={
            "Name": f"{SAID} S11-4711",
            "Description": f"{SAID}, scanned by {SERIAL}",
            "AcquisitionDate": "2011-08-29T09:53:17",
        },
        more=[(f"{before}label", label), ("macro", macro)],
    )
    with tifffile.TiffFile(path) as file:
        pages = [page for page in file.pages if page.shape in (label.shape, macro.shape)]
        pictures = tuple(_bytes_of(path, page) for page in pages)
    return Identified(path=path, pictures=pictures, images=2)


def write_identified_series(folder: Path, **how: Any) -> Identified:
    """Two levels, label, overview and thumbnail, and a result object that a viewer left beside them."""
    series = folder / f"{SAID}"
    series.mkdir()
    writing = Writing(more=identifying_elements(), **how)
    write_pyramid(series, tissue(256, 192), 2, writing)
    for number, kind in enumerate(("LABEL", "OVERVIEW", "THUMBNAIL")):
        write_picture(series / f"z{number}.dcm", noise(64, 64), replace(writing, kind=kind))
    write_annotations(series / "zz.dcm")
    return Identified(path=series, pictures=(), images=3, files=1)


def write_identified_dual(folder: Path, tiff: Tiff, names: Sequence[str]) -> Identified:
    """Two levels, label and overview, which are TIFF as well, with texts and a thumbnail that only the TIFF has."""
    series = folder / f"{SAID}"
    series.mkdir()
    tiff = replace(tiff, description=" ".join(secret.decode() for secret in SECRETS))
    writing = Writing(table="none", more=identifying_elements())
    paths = write_dual_series(series, tissue(256, 192), label=noise(64, 64), names=names, how=writing, tiff=tiff)
    with tifffile.TiffFile(paths[2]) as label:
        jpeg = _bytes_of(paths[2], label.pages.first)
    return Identified(path=series, pictures=(_scan(jpeg),), images=2)


def identifying_elements() -> dict[str, Any]:
    """Of a Basic Profile's list and beyond it: names, dates, numbers, UIDs, nested ones and private ones."""
    specimen, author = Dataset(), Dataset()
    specimen.SpecimenIdentifier = "S11-4711"
    specimen.SpecimenUID = "1.2.3.4.5.6.7.8.9"
    specimen.SpecimenShortDescription = f"biopsy of {SAID}"
    author.InstitutionName = f"{SAID} memorial"
    specimen.SpecimenPreparationSequence = [author]
    return {
        "StudyInstanceUID": "1.2.826.0.1.3680043.8.498.4711",
        "StudyDate": "20110829",
        "ContentDate": "20110829",
        "AcquisitionDateTime": "20110829095317.5",
        "ContentTime": "095317",
        "PatientBirthDate": "20110829",
        "PatientAge": "041Y",
        "AccessionNumber": "S11-4711",
        "InstitutionName": SAID,
        "OperatorsName": SAID,
        "DeviceSerialNumber": SERIAL,
        "SoftwareVersions": SAID,
        "ImageComments": SAID,
        "ContainerIdentifier": "S11-4711",
        "SpecimenDescriptionSequence": [specimen],
        "Manufacturer": "Leica",
    }


def add_private(dataset: Dataset) -> None:
    """A block of a vendor's own, with words, bytes and a sequence."""
    block: PrivateBlock = dataset.private_block(0x0011, f"{SAID} CREATOR", create=True)
    nested = Dataset()
    nested.PatientComments = SAID
    block.add_new(0x01, "LO", SAID)
    block.add_new(0x02, "OB", SAID.encode().ljust(10))
    block.add_new(0x03, "SQ", [nested])
    block.add_new(0x04, "UN", SAID.encode().ljust(10))


FORMATS: Final[dict[str, Callable[[Path], Identified]]] = {
    "svs": write_identified_svs,
    "svs big": lambda folder: write_identified_svs(folder, big=True),
    "svs big-endian": lambda folder: write_identified_svs(folder, byte_order=">"),
    "tiff": write_identified_tiff,
    "bigtiff": lambda folder: write_identified_tiff(folder, big=True),
    "ndpi": write_identified_ndpi,
    "ome": write_identified_ome,
    "ome behind its label": lambda folder: write_identified_ome(folder, first=True),
    "ome in planes": lambda folder: write_identified_ome(folder, layout="planar"),
    "ome in channels": lambda folder: write_identified_ome(folder, layout="channels"),
    "dicom": write_identified_series,
    "dicom implicit": lambda folder: write_identified_series(folder, syntax="1.2.840.10008.1.2", photometric="RGB"),
    "dicom and tiff": lambda folder: write_identified_dual(folder, Tiff(), IDC_NAMES),
    "dicom and tiff, label first": lambda folder: write_identified_dual(folder, Tiff(), ("c", "d", "a", "b")),
    "dicom and bigtiff": lambda folder: write_identified_dual(
        folder, Tiff(big=True, order=">", profile=SAID.encode() * 9, hidden=(noise(96, 128),)), IDC_NAMES
    ),
    "dicom sparse": lambda folder: write_identified_series(folder, sparse=True),
}


def noise(height: int, width: int, seed: int = 7) -> NDArray[np.uint8]:
    """A picture whose bytes are found nowhere else."""
    return np.random.default_rng((seed, height, width)).integers(0, 256, (height, width, 3), np.uint8)


def write_level(
    writer: tifffile.TiffWriter, pixels: NDArray[np.uint8], description: str | None, *, tile: int = 240, **more: Any
) -> None:
    """In JPEG tiles, each a whole JPEG in RGB."""
    height, width = pixels.shape[:2]
    padded = np.pad(pixels, ((0, -height % tile), (0, -width % tile), (0, 0)), mode="edge")
    tiles = (
        encode_tile(np.ascontiguousarray(padded[y : y + tile, x : x + tile]), rgb=True)
        for y in range(0, height, tile)
        for x in range(0, width, tile)
    )
    writer.write(
        tiles,
        shape=(height, width, 3),
        dtype=np.uint8,
        tile=(tile, tile),
        photometric="rgb",
        compression="jpeg",
        compressionargs={"outcolorspace": "RGB"},
        metadata=None,
        description=description,
        **{"software": False, **more},
    )


def _strips(
    writer: tifffile.TiffWriter, pixels: NDArray[np.uint8], description: str | None, kind: int, **more: Any
) -> bytes:
    """As they are: what lies in the file are the pixels."""
    writer.write(
        pixels,
        photometric="rgb",
        rowsperstrip=16,
        metadata=None,
        description=description,
        subfiletype=kind,
        **{"software": False, **more},
    )
    return pixels.tobytes()


def _last_jpegs(path: Path, count: int) -> tuple[bytes, ...]:
    """Their scans: before these lie tables that all JPEGs share."""
    with tifffile.TiffFile(path) as file:
        jpegs = [_bytes_of(path, page) for page in list(file.pages)[-count:]]
    return tuple(map(_scan, jpegs))


def _scan(jpeg: bytes) -> bytes:
    return jpeg[jpeg.index(b"\xff\xda") + 16 :]


def _bytes_of(path: Path, page: Any) -> bytes:
    """All that is stored of a page."""
    data = path.read_bytes()
    places = zip(page.dataoffsets, page.databytecounts, strict=True)
    return b"".join(data[start : start + size] for start, size in places)
