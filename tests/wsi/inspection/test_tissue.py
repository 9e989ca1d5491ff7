from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.shared_slides import shared_slide
from tests.slides import he_tissue
from wsi.inspection.thumbnail import make_thumbnail
from wsi.inspection.tissue import find_padding, find_tissue, find_tissue_mask, measure_glass_colour
from wsi.slide.opening import open_local_source, open_slide

CMU = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"
FROZEN = "real/aperio-jp2k33005-frozen-nompp-icc.TCGA-CR-7395-01A-01-TS1.svs"


def glass(height: int, width: int, level: float = 243) -> np.ndarray:
    noise = np.random.default_rng(0).normal(level, 1.2, (height, width, 3))
    return np.clip(noise, 0, 255).astype(np.uint8)


def grey(pixels: np.ndarray) -> np.ndarray:
    return np.repeat(np.asarray(Image.fromarray(pixels).convert("L"))[..., None], 3, axis=2)


def overview() -> np.ndarray:
    return make_thumbnail(open_slide(open_local_source(shared_slide(CMU))), 1024).pixels


def picture(name: str) -> np.ndarray:
    return np.asarray(Image.open(shared_slide(f"pictures/{name}")).convert("RGB"))


@pytest.mark.parametrize("level", [255, 243, 215])
def test_blank_glass_holds_no_tissue(level: float):
    assert not find_tissue_mask(glass(700, 900, level)).any()


def test_one_colour_holds_no_tissue():
    assert not find_tissue_mask(np.full((3, 5, 3), 200, np.uint8)).any()


def test_a_block_of_tissue_on_glass_is_found_to_the_pixel_or_two():
    pixels = glass(600, 600)
    pixels[100:400, 200:500] = he_tissue(np.random.default_rng(3), 300, 300)
    truth = np.zeros((600, 600), bool)
    truth[100:400, 200:500] = True
    found = find_tissue_mask(pixels)
    assert (found & truth).sum() / (found | truth).sum() > 0.95


def test_a_real_slide_has_the_tissue_that_was_measured():
    assert find_tissue_mask(overview()).mean() == pytest.approx(0.37, abs=0.02)


def test_the_grey_copy_of_a_slide_has_the_same_tissue():
    assert find_tissue_mask(grey(overview())).mean() == pytest.approx(find_tissue_mask(overview()).mean(), abs=0.03)


def test_a_pale_copy_of_a_slide_keeps_its_tissue():
    pale = (255 - (255 - overview().astype(float)) * 0.5).astype(np.uint8)
    assert find_tissue_mask(pale).mean() > 0.25


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("tile-almost-white.histolab.png", 0.0, 0.06),
        ("he-1000.tiatoolbox-target_image.png", 0.8, 1.0),
        ("histolytics.hgsc_nest.jpg", 0.75, 1.0),
        ("ihc-dab-512.skimage.png", 0.55, 0.85),
    ],
)
def test_pictures_hold_about_the_tissue_that_one_sees(name: str, least: float, most: float):
    assert least <= find_tissue_mask(picture(name)).mean() <= most


def test_glass_is_neutral_even_where_a_view_shows_none():
    stained = np.tile(np.array([230, 150, 215], np.uint8), (50, 50, 1))
    assert measure_glass_colour(stained).tolist() == [230, 230, 215]
    assert find_tissue_mask(stained).all() or not find_tissue_mask(stained).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (4, 2), (7, 5)])
def test_the_mask_has_the_shape_of_the_picture_however_small(shape: tuple[int, int]):
    assert find_tissue_mask(glass(*shape)).shape == shape


def inked(pixels: np.ndarray, ink: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A stroke across the picture, over glass and tissue, and where it lies. Ink takes light from what is under."""
    height, width = pixels.shape[:2]
    line = Image.new("1", (width, height))
    ends = [(width * 0.05, height * 0.1), (width * 0.5, height * 0.5), (width * 0.95, height * 0.3)]
    ImageDraw.Draw(line).line(ends, fill=1, width=max(24, width // 30))
    stroke = np.asarray(line)
    return np.where(stroke[..., None], pixels * np.array(ink) / 245, pixels).round().astype(np.uint8), stroke


@pytest.mark.parametrize(
    ("ink", "least"), [((20, 120, 70), 0.99), ((30, 80, 170), 0.9), ((215, 30, 45), 0.75), ((35, 33, 36), 0.95)]
)
def test_ink_is_no_tissue_and_takes_none_with_it(ink: tuple[int, int, int], least: float):
    clean, (drawn, stroke) = find_tissue_mask(overview()), inked(overview(), ink)
    found = find_tissue(drawn)
    assert (~found.mask[stroke]).mean() > least
    assert (clean & ~found.mask & ~stroke).sum() < 0.001 * clean.sum()


def test_a_real_pen_mark_over_tissue_is_found():
    found = find_tissue(picture("slide-thumb-green-pen.tcga.png"))
    assert 0.13 < found.pen.mean() < 0.18
    assert found.pen[:200, 400:410].mean() > 0.9
    assert found.pen[:, :130].mean() < 0.005  # a fold, nearly black
    assert not found.pen[:, 520:].any()


@pytest.mark.parametrize("stain", ["grey", "blue"])
def test_a_slide_that_is_all_of_a_pens_colour_keeps_its_tissue(stain: str):
    pixels = glass(600, 600)
    pixels[100:400, 200:500] = (60, 60, 60) if stain == "grey" else (60, 130, 170)
    found = find_tissue(pixels)
    assert found.mask[105:395, 205:495].all()
    assert found.stained_like_pen == (stain == "blue")


def test_stains_are_not_taken_for_ink():
    for name in ("he-1000.tiatoolbox-target_image.png", "histolytics.hgsc_nest.jpg", "ihc-dab-512.skimage.png"):
        assert not find_tissue(picture(name)).pen.any()


def test_specks_of_ink_stay():
    """The margins of the real slide are inked, a few cells wide."""
    assert not find_tissue(overview(), mpp=1.0).pen.any()


@pytest.mark.parametrize("padding", [0, 255])
def test_padding_around_the_scan_changes_no_tissue(padding: int):
    pixels = overview()
    height, width = pixels.shape[:2]
    padded = np.full((2 * height, 2 * width, 3), padding, np.uint8)
    padded[100 : 100 + height, 200 : 200 + width] = pixels
    inside = find_tissue_mask(padded)[100 : 100 + height, 200 : 200 + width]
    assert (inside != find_tissue_mask(pixels)).mean() < 0.002
    assert find_tissue_mask(padded).sum() == inside.sum()


def test_glass_that_is_pure_white_is_glass():
    pixels = glass(600, 600, 300)
    assert (pixels == 255).all()
    pixels[100:400, 200:500] = he_tissue(np.random.default_rng(3), 300, 300)
    assert find_tissue_mask(pixels).mean() == pytest.approx(0.25, abs=0.01)


def test_real_glass_within_white_padding_is_told_from_it():
    """The frozen section was scanned in steps around the tissue; the rest is white, its glass is at 241."""
    seen = make_thumbnail(open_slide(open_local_source(shared_slide(FROZEN)), mpp=0.5), 2048).pixels
    assert find_tissue_mask(seen).mean() == pytest.approx(0.628, abs=0.01)
    assert find_padding(seen).mean() == pytest.approx(0.2, abs=0.01)


def test_holes_stay_holes():
    pixels = glass(600, 600)
    pixels[100:400, 100:400] = (170, 90, 150)
    pixels[200:300, 200:300] = glass(100, 100)
    assert not find_tissue_mask(pixels)[205:295, 205:295].any()
