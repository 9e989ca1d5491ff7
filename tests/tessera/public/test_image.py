"""`tessera.open`: a slide's pixels, against OpenSlide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from openslide import OpenSlide

import tessera
from tests.shared_slides import shared_slide
from tests.slides import write_pyramid_tiff, write_svs
from tests.slides.scn import write_scn

REAL = [
    "real/aperio-jpeg-20x.CMU-1-Small-Region.svs",
    "real/generic-pyramid-bigtiff-jpeg.CMU-0-small.tiff",
    "real/aperio-jp2k33005-frozen-nompp-icc.TCGA-CR-7395-01A-01-TS1.svs",
    "derived/cmu-small-region.pyramid-jpeg-ycbcr.tif",
]


def by_openslide(slide: OpenSlide, corner: tuple[int, int], level: int, size: int) -> NDArray[np.uint8]:
    """White where OpenSlide is transparent: past the edge."""
    region = np.asarray(slide.read_region(corner, level, (size, size)))
    return np.where(region[..., 3:] == 0, np.uint8(255), region[..., :3])


@pytest.mark.parametrize("name", REAL)
def test_level_0_equals_openslide(name: str) -> None:
    path = shared_slide(name)
    with tessera.open(path) as slide, OpenSlide(path) as oracle:
        assert slide.dimensions == oracle.dimensions
        width, height = slide.dimensions
        for corner in ((0, 0), (width // 3, height // 2), (width - 301, height - 301)):
            np.testing.assert_array_equal(slide.read_region(corner, 300), by_openslide(oracle, corner, 0, 300))


@pytest.mark.parametrize("name", REAL)
def test_every_level_is_read_at_its_scale(name: str) -> None:
    path = shared_slide(name)
    with tessera.open(path, mpp=0.5) as slide, OpenSlide(path) as oracle:
        assert [(level.width, level.height) for level in slide.levels] == list(oracle.level_dimensions)
        assert slide.mpp is not None
        for number, level in enumerate(slide.levels):
            size = min(200, level.width, level.height)
            seen = slide.read_region((0, 0), size, mpp=slide.mpp * level.downsample)
            np.testing.assert_array_equal(seen, by_openslide(oracle, (0, 0), number, size))


def test_a_region_at_a_scale_between_the_levels_looks_as_openslide_shrunk() -> None:
    path = shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")
    with tessera.open(path) as slide, OpenSlide(path) as oracle:
        assert slide.mpp is not None
        seen = slide.read_region((400, 400), 150, mpp=4 * slide.mpp)
        averaged = by_openslide(oracle, (400, 400), 0, 600).reshape(150, 4, 150, 4, 3).mean(axis=(1, 3))
        assert np.abs(seen - averaged).mean() < 4


@pytest.mark.parametrize("name", REAL[:2])
def test_the_thumbnail_is_the_average_of_what_openslide_reads(name: str) -> None:
    path = shared_slide(name)
    with tessera.open(path) as slide, OpenSlide(path) as oracle:
        seen = slide.thumbnail(256)
        assert 128 <= max(seen.shape[:2]) <= 256
        step = round(oracle.dimensions[0] / seen.shape[1])
        rows, columns = oracle.dimensions[1] // step, oracle.dimensions[0] // step
        whole = by_openslide(oracle, (0, 0), 0, max(oracle.dimensions))[: rows * step, : columns * step]
        averaged = whole.reshape(rows, step, columns, step, 3).mean(axis=(1, 3))
        rows, columns = min(rows, seen.shape[0]), min(columns, seen.shape[1])
        assert np.abs(seen[:rows, :columns] - averaged[:rows, :columns]).mean() < 3


def test_the_fields_say_what_the_file_says(tmp_path: Path) -> None:
    path = write_pyramid_tiff(tmp_path / "a.tif", width=900, height=700, mpp=0.25)
    with tessera.open(str(path)) as slide:
        assert (slide.dimensions, slide.mpp, slide.mpp_y) == ((900, 700), 0.25, 0.25)
        assert [level.downsample for level in slide.levels] == [1, 2, 4]
        assert slide.inspection.format == "tiff"
        assert repr(slide) == "<WholeSlideImage tiff: 900 x 700 px, 0.25 µm/px>"
        assert slide.read_region((0, 0), (30, 20)).shape == (20, 30, 3)
        assert slide.read_region((0, 0), 8).dtype == np.uint8
        with pytest.raises(ValueError, match="at least 1 x 1"):
            slide.read_region((0, 0), 0)
        with pytest.raises(ValueError, match="mpp must be above 0"):
            slide.read_region((0, 0), 8, mpp=0)
        with pytest.raises(ValueError, match="max_size"):
            slide.thumbnail(0)


def test_a_scale_is_stated_where_the_file_has_none(tmp_path: Path) -> None:
    path = write_svs(tmp_path / "a.svs", width=600, height=600, mpp=None)
    with tessera.open(path) as slide:
        assert (slide.mpp, slide.mpp_y) == (None, None)
        assert slide.read_region((0, 0), 100).shape == (100, 100, 3)
        assert max(slide.thumbnail(300).shape) <= 300
        with pytest.raises(tessera.SlideRejected, match="microns a pixel"):
            slide.read_region((0, 0), 100, mpp=1.0)
    with tessera.open(path, mpp=0.5) as slide:
        assert slide.mpp == 0.5
        assert slide.read_region((0, 0), 100, mpp=1.0).shape == (100, 100, 3)


def test_what_only_openslide_reads_is_read_too(tmp_path: Path) -> None:
    path = write_scn(tmp_path / "a.scn")
    with tessera.open(path) as slide, OpenSlide(path) as oracle:
        np.testing.assert_array_equal(slide.read_region((0, 0), 200), by_openslide(oracle, (0, 0), 0, 200))


def test_a_file_that_is_no_slide_is_rejected_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.svs").write_text("not a slide")
    with pytest.raises(tessera.SlideRejected, match="not a whole-slide image"):
        tessera.open(tmp_path / "text.svs")


def test_a_closed_slide_is_not_read(tmp_path: Path) -> None:
    slide = tessera.open(write_svs(tmp_path / "a.svs", width=600, height=600))
    slide.close()
    slide.close()
    with pytest.raises(ValueError, match="closed"):
        slide.read_region((0, 0), 10)
