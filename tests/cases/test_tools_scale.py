"""Reports on scale: the level that is read, the box that a tile covers, and slides whose scale is missing or wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tifffile

from tessera.local_run.inputs import expand
from tests.cases.reported import reported
from tests.slides import write_pyramid_tiff, write_svs
from tests.wsi.plans import inspection, plan, small_card
from wsi.errors import RejectReason, SlideRejected
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.scale import compute_box_sides, compute_grid_mpp
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection
from wsi.slide.opening import open_local_source, open_slide


def card_of(tile_px: int, mpp: float, *, allow_upsampling: bool = False) -> ModelCard:
    return replace(STAIN_DENSITY, tile_px=tile_px, input_px=tile_px, mpp=mpp, allow_upsampling=allow_upsampling)


def opened(path: Path, *, mpp: float | None = None) -> Inspection:
    return open_slide(open_local_source(path), mpp=mpp).inspection


@reported("TRIDENT#145")
def test_tiles_of_a_slide_twice_as_fine_are_twice_as_far_apart() -> None:
    sides = {mpp: plan(inspection(4096, 2048, mpp=mpp), card=card_of(256, 0.5)).grid for mpp in (0.5, 0.25)}
    assert [(grid.side, grid.stride) for grid in sides.values()] == [(256, 256), (512, 512)]


@reported("TRIDENT#119")
def test_a_box_follows_the_microns_of_the_slide_and_not_its_magnification() -> None:
    seen = inspection(4000, 4000, mpp=0.265)
    assert compute_box_sides(card_of(512, 0.5), compute_grid_mpp(seen)) == (966, 966)  # 512 px x 0.5 um / 0.265 um


@reported("CLAM#163", "CLAM#259", "CLAM#292")
def test_a_level_between_those_of_the_file_is_made_from_the_finer_one() -> None:
    grid = plan(inspection(8192, 8192, mpp=0.25, downsamples=(1, 4)), card=card_of(256, 0.5)).grid
    assert (grid.level, grid.side, grid.level_side * grid.reduction) == (0, 512, 512)


@reported("tiatoolbox PR#55")
def test_a_model_finer_than_the_slide_reads_the_finest_level() -> None:
    seen = inspection(4096, 4096, mpp=0.5, downsamples=(1, 4, 16))
    assert plan(seen, card=card_of(256, 0.25, allow_upsampling=True)).grid.level == 0


@reported("hs2p#13")
def test_a_tile_of_4096_px_is_read_from_a_slide_that_is_finer_than_the_model() -> None:
    grid = plan(inspection(40_000, 40_000, mpp=0.228, downsamples=(1, 4)), card=card_of(4096, 0.5)).grid
    assert (grid.level, grid.side) == (0, 8982)


@reported("CellViT-plus-plus#21")
def test_boxes_of_an_odd_scale_do_not_drift() -> None:
    made = plan(inspection(30_000, 4000, mpp=0.092045), card=card_of(256, 0.25))
    assert made.grid.side == 695
    assert sorted({int(x) for x, _ in made.tiles}) == [695 * column for column in range(-(-30_000 // 695))]


@reported("hover_net#270", "CellViT#55")
def test_a_20x_slide_is_not_enlarged_for_a_40x_model_unasked() -> None:
    seen, model = inspection(2048, 2048, mpp=0.5), card_of(256, 0.25)
    with pytest.raises(SlideRejected) as refused:
        plan(seen, card=model)
    assert refused.value.reason is RejectReason.SLIDE_TOO_COARSE
    assert plan(seen, card=model, options=JobOptions(allow_upsampling=True)).grid.side == 128


@reported("wsinfer#18")
def test_a_model_of_an_odd_scale_covers_its_own_microns() -> None:
    seen = inspection(4000, 4000, mpp=0.25)
    assert compute_box_sides(card_of(350, 88 / 350), compute_grid_mpp(seen)) == (352, 352)  # 88 um
    assert compute_box_sides(card_of(350, 0.25), compute_grid_mpp(seen)) == (350, 350)  # 87.5 um, as the paper says


@reported("CLAM#219")
def test_a_pixel_of_the_heatmap_is_as_large_as_a_tile() -> None:
    made = plan(inspection(4096, 4096, mpp=0.25), card=card_of(256, 0.5))
    assert made.grid.stride * made.mpp == 128


@reported("HistoQC#150", "HistoQC#212", "TRIDENT#14")
def test_magnification_alone_is_no_scale(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "a.svs", width=480, height=480, mpp=None, pool=2)  # AppMag = 20
    seen = opened(slide)
    assert (seen.mpp_x, seen.mpp_source) == (None, None)
    with pytest.raises(SlideRejected) as refused:
        compute_grid_mpp(seen)
    assert refused.value.reason is RejectReason.NO_MPP
    assert compute_grid_mpp(opened(slide, mpp=0.5)) == (0.5, 0.5)


@reported("HistoQC#206", "HistoQC#304")
def test_a_slide_without_magnification_is_read_by_its_microns(tmp_path: Path) -> None:
    slide = write_svs(tmp_path / "a.svs", width=480, height=480, mpp=0.25, pool=2)
    slide.write_bytes(slide.read_bytes().replace(b"AppMag = 20|", b"Session = a|"))
    assert compute_grid_mpp(opened(slide)) == (0.25, 0.25)


@reported("dlup#108")
def test_the_scale_is_that_of_the_largest_page(tmp_path: Path) -> None:
    assert compute_grid_mpp(opened(_with_resolutions(tmp_path / "own.tif", (4.0, 8.0, 16.0)))) == (4.0, 4.0)
    assert compute_grid_mpp(opened(_with_resolutions(tmp_path / "repeated.tif", (4.0, 4.0, 4.0)))) == (4.0, 4.0)


def _with_resolutions(path: Path, scales: tuple[float, ...]) -> Path:
    """A pyramid whose pages state these um per pixel, each its own or each the first one's."""
    write_pyramid_tiff(path, width=1024, height=768, levels=(1, 2, 4), mpp=1.0)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        for page, mpp in zip(tiff.pages, scales, strict=True):
            for tag in ("XResolution", "YResolution"):
                page.aspage().tags[tag].overwrite((round(10_000 / mpp * 1000), 1000))
    return path


@reported("MONAI PR#7574", "dlup#80")
def test_a_resolution_that_no_scanner_has_is_refused_by_its_number(tmp_path: Path) -> None:
    slide = write_pyramid_tiff(tmp_path / "a.tif", width=512, height=512, levels=(1,), mpp=1000.0)  # 10 px per cm
    with pytest.raises(SlideRejected, match="1000 microns per pixel") as refused:
        compute_grid_mpp(opened(slide))
    assert refused.value.reason is RejectReason.ABSURD_MPP


@reported("wsic#73")
def test_a_resolution_in_centimetres_is_read(tmp_path: Path) -> None:
    assert compute_grid_mpp(opened(write_pyramid_tiff(tmp_path / "a.tif", width=512, height=512, mpp=0.25))) == (
        0.25,
        0.25,
    )


@reported("hs2p#17", "TRIDENT#60")
def test_a_scale_that_a_list_of_slides_states_wins_over_the_file(tmp_path: Path) -> None:
    write_svs(tmp_path / "a.svs", width=480, height=480, mpp=0.5, pool=2)
    (tmp_path / "slides.csv").write_text("wsi_id,path,mpp\nx,a.svs,0.25\n")
    (slide,) = expand([], tmp_path / "slides.csv").slides
    assert compute_grid_mpp(opened(Path(slide.location), mpp=slide.mpp)) == (0.25, 0.25)


@reported("slideflow#269", "slideflow#323")
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_download_that_broke_off_is_not_called_a_slide_without_scale(tmp_path: Path, kept: float) -> None:
    slide = write_svs(tmp_path / "a.svs", width=960, height=720, mpp=0.25, pool=2)
    data = slide.read_bytes()
    slide.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(SlideRejected) as refused:
        opened(slide)
    assert refused.value.reason is RejectReason.TRUNCATED


@reported("LazySlide#3")
def test_a_grid_needs_no_scale_of_the_caller() -> None:
    assert plan(inspection(1000, 1000), card=small_card()).grid.side == 64
