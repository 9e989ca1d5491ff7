"""The generated slides of the outcome table, by the names they have there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tests.slides import he_tissue, write_svs
from tests.slides.address import write_address_slide
from tests.slides.bombs import write_bomb
from tests.slides.dicoms import JPEG_2000, Writing, tissue, write_picture, write_pyramid
from tests.slides.giant import write_giant
from tests.slides.ndpi import NdpiLevel, ndpi_levels, write_ndpi
from tests.slides.ome import ome_pyramid, write_ome
from tests.slides.scn import write_scn

EXACT: Final = {"syntax": JPEG_2000, "photometric": "YBR_RCT"}  #: without loss, so that codecs cannot differ


def _dicom(path: Path, **how: object) -> None:
    """One level in a folder of its own: files of one folder belong together. Each plane of each optical path is a
    picture of its own."""
    path.parent.mkdir()
    written = Writing(**how)  # pyright: ignore[reportArgumentType]
    first, *further = (tissue(300, 200, seed) for seed in range(written.paths * written.planes))
    write_picture(path, first, written, *further)


def _dicom_pyramid(path: Path) -> None:
    path.parent.mkdir()
    write_pyramid(path.parent, tissue(512, 384), 2)[0].rename(path)


def _without_restarts() -> list[NdpiLevel]:
    return [replace(level, slice_width=None) for level in ndpi_levels(1024, 512, downsamples=(1, 4))]


def _wide() -> list[NdpiLevel]:
    """Wider than a JPEG's header can say."""
    pixels = np.tile(he_tissue(np.random.default_rng(2), 64, 2_000), (1, 35, 1))
    return [NdpiLevel(pixels=pixels, lens=40, slice_width=2_000, claimed=(70_000, 64))]


def _planes() -> list[NdpiLevel]:
    above = ndpi_levels(1024, 512, downsamples=(1, 4), seed=1)
    return [*(replace(level, focus=2_000) for level in above[:2]), *ndpi_levels(1024, 512, downsamples=(1, 4))]


def _dicom_parts(path: Path, how: Writing) -> None:
    """A concatenation: the frames of one level in two files."""
    path.parent.mkdir()
    picture = tissue(256, 192)
    write_picture(path, picture, replace(how, tiles=range(7), part=(1, 2, 0)))
    write_picture(path.with_name("second.dcm"), picture, replace(how, tiles=range(7, 12), part=(2, 2, 7)))


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
    "no-list-of-restarts.ndpi": lambda path: write_ndpi(
        path, [replace(level, starts="none") for level in ndpi_levels(1024, 512)]
    ),
    "wide.ndpi": lambda path: write_ndpi(path, _wide()),
    "planes.ndpi": lambda path: write_ndpi(path, _planes()),
    "beyond-4-gib.ndpi": lambda path: write_ndpi(path, ndpi_levels(1024, 512), first_byte=2**32 + 100),
    "dicom-pyramid/base.dcm": _dicom_pyramid,
    "dicom-sparse/slide.dcm": lambda path: _dicom(path, sparse=True, tiles=(0, 2, 3, 5, 7, 8, 11)),
    "dicom-two-paths/slide.dcm": lambda path: _dicom(path, paths=2),
    "dicom-two-paths-chosen/slide.dcm": lambda path: _dicom(path, paths=2),
    "dicom-no-such-path/slide.dcm": lambda path: _dicom(path, paths=2),
    "dicom-two-fluorescent-paths/slide.dcm": lambda path: _dicom(path, paths=2, dark=(1, 2)),
    "dicom-two-planes/slide.dcm": lambda path: _dicom(path, planes=2),
    "dicom-two-planes-chosen/slide.dcm": lambda path: _dicom(path, planes=2, **EXACT),
    "dicom-sparse-stack-chosen/slide.dcm": lambda path: _dicom(
        path, sparse=True, paths=2, planes=2, heights=(4.0, 1.5), tiles=(9, 0, 4, 2, 11), **EXACT
    ),
    "dicom-sparse-jpeg2000/slide.dcm": lambda path: _dicom(path, sparse=True, tiles=(11, 0, 2, 3, 5, 7), **EXACT),
    "dicom-parts/first.dcm": lambda path: _dicom_parts(path, Writing(syntax=JPEG_2000, photometric="YBR_RCT")),
    "dicom-parts-jpeg/first.dcm": lambda path: _dicom_parts(path, Writing()),
    "dicom-fragments-no-table/slide.dcm": lambda path: _dicom(path, fragments=3, table="none", **EXACT),
    "dicom-fragments/slide.dcm": lambda path: _dicom(path, fragments=2),
    "dicom-adobe-0/slide.dcm": lambda path: _dicom(path, adobe_rgb=True),
    "dicom-anisotropic/slide.dcm": lambda path: _dicom(path, spacing=(0.0005, 0.00025)),
}


def write_fixtures(folder: Path) -> None:
    for name, write in FIXTURES.items():
        write(folder / name)
