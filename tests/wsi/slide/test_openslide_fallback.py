"""A TIFF that our own reader gives up on and OpenSlide reads keeps its scale, and says what was lost and why."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from tests.slides import he_tissue
from tests.slides.scn import write_scn
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Inspection
from wsi.slide.mpp import get_valid_mpp
from wsi.slide.opening import open_local_source, open_slide

SUB_DIRECTORIES, TILE_BYTE_COUNTS = 330, 325
APERIO = "Aperio Image Library v1\r\n320x256|"


def write_pages(path: Path, factors: tuple[int, ...], text: str, **how: Any) -> Path:
    """Unflagged pages of one image, of which OpenSlide shows the first alone, unless they are Aperio's."""
    pixels = he_tissue(np.random.default_rng(0), 256, 320)
    with tifffile.TiffWriter(path) as writer:
        for factor in factors:
            writer.write(
                np.ascontiguousarray(pixels[::factor, ::factor]),
                tile=(64, 64),
                photometric="rgb",
                compression="deflate",
                description=text if factor == 1 else None,
                metadata=None,
                software=False,
                **how,
            )
    return path


def write_without_a_tile(path: Path, *, text: str = "x", factors: tuple[int, ...] = (1, 2), **how: Any) -> Path:
    """The last page lists one tile too few, at which our own reader gives up."""
    write_pages(path, factors, text, **how)
    with tifffile.TiffFile(path) as file:
        tag = file.pages[len(factors) - 1].aspage().tags[TILE_BYTE_COUNTS]
    return patch(path, tag.offset + 4, tag.count - 1)


def write_with_bad_directory(path: Path, *, text: str) -> Path:
    """A directory of 65,535 tags hangs below the page, where OpenSlide never looks and our own reader gives up."""
    write_pages(path, (1,), text, extratags=[(SUB_DIRECTORIES + 1, 4, 1, 0, True)])  # tifffile writes none by itself.
    with tifffile.TiffFile(path) as file:
        place = file.pages.first.tags[SUB_DIRECTORIES + 1].offset
    end = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"\xff\xff" + bytes(16))
    patch(path, place, SUB_DIRECTORIES | 4 << 16)
    return patch(path, place + 8, end)


def patch(path: Path, place: int, value: int) -> Path:
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, place, value)
    path.write_bytes(data)
    return path


def inspected(path: Path) -> Inspection:
    reader = open_slide(open_local_source(path))
    try:
        return reader.inspection
    finally:
        reader.close()


def test_scale_that_openslide_does_not_read_is_kept_and_the_reason_is_a_warning(tmp_path: Path):
    path = write_without_a_tile(tmp_path / "a.tif", text="Source = Bright Field\r\nResolution = 0.4 um")
    found = inspected(path)
    assert (found.reading_path, found.mpp_x, found.mpp_y, found.mpp_source) == ("scratch", 0.4, 0.4, "huron")
    assert found.warnings[0] == f"OpenSlide reads this slide, because Tessera's own reader cannot. {found.path_reason}"


def test_scale_of_a_vendor_that_openslide_knows_comes_from_openslide(tmp_path: Path):
    path = write_with_bad_directory(tmp_path / "a.svs", text=f"{APERIO}MPP = 0.25|")
    found = inspected(path)
    assert (found.format, found.mpp_x, found.mpp_source) == ("svs", 0.25, "openslide")


def test_text_of_an_svs_that_openslide_does_not_understand_is_kept(tmp_path: Path):
    path = write_with_bad_directory(tmp_path / "a.svs", text=f"{APERIO}MPP=0.24;Title=x")
    found = inspected(path)
    assert (found.mpp_x, found.mpp_source) == (0.24, "aperio")


def test_tags_and_text_that_contradict_each_other_are_a_conflict_in_a_copy_too(tmp_path: Path):
    path = write_without_a_tile(
        tmp_path / "a.tif", text="Resolution = 0.4 um", resolution=(2_500, 2_500), resolutionunit="CENTIMETER"
    )
    with pytest.raises(SlideRejected, match=r"0\.4 \(huron\) and 4 \(tiff-resolution\)") as caught:
        get_valid_mpp(inspected(path))
    assert caught.value.reason is RejectReason.MPP_CONFLICT


def test_text_that_is_not_understood_is_quoted_in_a_copy_too(tmp_path: Path):
    path = write_without_a_tile(tmp_path / "a.tif", text="3dh_PixelSizeX = 242534|3dh_PixelSizeY = 242534")
    with pytest.raises(SlideRejected, match="3dh_PixelSizeX = 242534") as caught:
        get_valid_mpp(inspected(path))
    assert caught.value.reason is RejectReason.NO_MPP


def test_levels_that_openslide_does_not_show_are_reported(tmp_path: Path):
    path = write_without_a_tile(
        tmp_path / "a.tif", factors=(1, 2, 4), resolution=(4e4, 4e4), resolutionunit="CENTIMETER"
    )
    found = inspected(path)
    assert len(found.levels) == 1
    assert any("holds 3 levels, of which OpenSlide shows 1" in warning for warning in found.warnings)


def test_format_that_only_openslide_reads_has_no_warning(tmp_path: Path):
    found = inspected(write_scn(tmp_path / "a.scn"))
    assert found.path_reason is not None
    assert found.warnings == ()


def test_slide_of_which_openslide_shows_a_thumbnail_is_refused(tmp_path: Path):
    path = write_without_a_tile(tmp_path / "a.tif", factors=(4, 1), resolution=(4e4, 4e4), resolutionunit="CENTIMETER")
    with pytest.raises(SlideRejected, match="lists 19 tiles where its size needs 20"):
        inspected(path)
