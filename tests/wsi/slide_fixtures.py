"""The generated slides of the outcome table, by the names they have there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.slides import write_svs
from tests.slides.address import write_address_slide
from tests.slides.bombs import write_bomb
from tests.slides.dicoms import Writing, tissue, write_picture, write_pyramid
from tests.slides.giant import write_giant
from tests.slides.ndpi import NdpiLevel, ndpi_levels, write_ndpi
from tests.slides.ome import ome_pyramid, write_ome
from tests.slides.scn import write_scn


def _dicom(path: Path, **how: object) -> None:
    """One level in a folder of its own: files of one folder belong together."""
    path.parent.mkdir()
    write_picture(path, tissue(300, 200), Writing(**how))  # pyright: ignore[reportArgumentType]


def _dicom_pyramid(path: Path) -> None:
    path.parent.mkdir()
    write_pyramid(path.parent, tissue(512, 384), 2)[0].rename(path)


def _without_restarts() -> list[NdpiLevel]:
    return [replace(level, slice_width=None) for level in ndpi_levels(1024, 512, downsamples=(1, 4))]


FIXTURES: Final[dict[str, Callable[[Path], object]]] = {
    "address.tif": write_address_slide,
    "giant.svs": write_giant,
    "bomb-jpeg.svs": lambda path: write_bomb(path, "jpeg"),
    "bomb-jpeg2000.svs": lambda path: write_bomb(path, "jpeg2000"),
    "bounds.scn": write_scn,
    "aperio-big-endian.svs": lambda path: write_svs(
        path, width=960, height=720, levels=(1, 4), byte_order=">", big=True
    ),
    "ome-subifds.ome.tif": lambda path: write_ome(path, ome_pyramid()),
    "ome-planar-nm.ome.tif": lambda path: write_ome(path, ome_pyramid(), layout="planar", size=500.0, unit="nm"),
    "ome-channels-mm.ome.tif": lambda path: write_ome(path, ome_pyramid(), layout="channels", size=0.0005, unit="mm"),
    "ome-pixel.ome.tif": lambda path: write_ome(path, ome_pyramid(), size=1.0, unit="pixel"),
    "restarts.ndpi": lambda path: write_ndpi(path, ndpi_levels(1024, 512)),
    "no-restarts.ndpi": lambda path: write_ndpi(path, _without_restarts()),
    "beyond-4-gib.ndpi": lambda path: write_ndpi(path, ndpi_levels(1024, 512), first_byte=2**32 + 100),
    "dicom-pyramid/base.dcm": _dicom_pyramid,
    "dicom-sparse/slide.dcm": lambda path: _dicom(path, sparse=True, tiles=(0, 2, 3, 5, 7, 8, 11)),
    "dicom-two-paths/slide.dcm": lambda path: _dicom(path, paths=2),
    "dicom-two-planes/slide.dcm": lambda path: _dicom(path, planes=2),
    "dicom-fragments/slide.dcm": lambda path: _dicom(path, fragments=2),
    "dicom-adobe-0/slide.dcm": lambda path: _dicom(path, adobe_rgb=True),
    "dicom-anisotropic/slide.dcm": lambda path: _dicom(path, spacing=(0.0005, 0.00025)),
}


def write_fixtures(folder: Path) -> None:
    for name, write in FIXTURES.items():
        write(folder / name)
