from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.shared_slides import shared_slide
from tests.slides import he_tissue
from wsi.slide.opening import local_source, open_slide
from wsi.slide.thumbnail import thumbnail
from wsi.tissue import glass_colour, tissue_mask

CMU = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"


def glass(height: int, width: int, level: float = 243) -> np.ndarray:
    noise = np.random.default_rng(0).normal(level, 1.2, (height, width, 3))
    return np.clip(noise, 0, 255).astype(np.uint8)


def grey(pixels: np.ndarray) -> np.ndarray:
    return np.repeat(np.asarray(Image.fromarray(pixels).convert("L"))[..., None], 3, axis=2)


def overview() -> np.ndarray:
    return thumbnail(open_slide(local_source(shared_slide(CMU))), 1024).pixels


def picture(name: str) -> np.ndarray:
    return np.asarray(Image.open(shared_slide(f"pictures/{name}")).convert("RGB"))


@pytest.mark.parametrize("level", [255, 243, 215])
def test_blank_glass_holds_no_tissue(level: float):
    assert not tissue_mask(glass(700, 900, level)).any()


def test_one_colour_holds_no_tissue():
    assert not tissue_mask(np.full((3, 5, 3), 200, np.uint8)).any()


def test_a_block_of_tissue_on_glass_is_found_to_the_pixel_or_two():
    pixels = glass(600, 600)
    pixels[100:400, 200:500] = he_tissue(np.random.default_rng(3), 300, 300)
    truth = np.zeros((600, 600), bool)
    truth[100:400, 200:500] = True
    found = tissue_mask(pixels)
    assert (found & truth).sum() / (found | truth).sum() > 0.95


def test_a_real_slide_has_the_tissue_that_was_measured():
    assert tissue_mask(overview()).mean() == pytest.approx(0.37, abs=0.02)


def test_the_grey_copy_of_a_slide_has_the_same_tissue():
    assert tissue_mask(grey(overview())).mean() == pytest.approx(tissue_mask(overview()).mean(), abs=0.03)


def test_a_pale_copy_of_a_slide_keeps_its_tissue():
    pale = (255 - (255 - overview().astype(float)) * 0.5).astype(np.uint8)
    assert tissue_mask(pale).mean() > 0.25


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
    assert least <= tissue_mask(picture(name)).mean() <= most


def test_glass_is_neutral_even_where_a_view_shows_none():
    stained = np.tile(np.array([230, 150, 215], np.uint8), (50, 50, 1))
    assert glass_colour(stained).tolist() == [230, 230, 215]
    assert tissue_mask(stained).all() or not tissue_mask(stained).any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (4, 2), (7, 5)])
def test_the_mask_has_the_shape_of_the_picture_however_small(shape: tuple[int, int]):
    assert tissue_mask(glass(*shape)).shape == shape
