from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.slides import he_tissue
from wsi.slide.resample import antialias_weights, resize


@pytest.mark.parametrize(("source", "target"), [(512, 256), (513, 256), (300, 224), (240, 240), (100, 224), (257, 31)])
def test_resize_is_within_one_of_pil_bilinear(source: int, target: int):
    pixels = he_tissue(np.random.default_rng(source), source, source)
    expected = np.asarray(Image.fromarray(pixels).resize((target, target), Image.Resampling.BILINEAR))
    (ours,) = resize(pixels[None], target)
    assert ours.dtype == np.float32
    assert np.abs(ours.round() - expected).max() <= 1


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 200))
def test_weights_of_each_target_pixel_sum_to_one(source: int, target: int):
    weights = antialias_weights(source, target)
    assert weights.shape == (target, source)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_an_item_does_not_depend_on_its_batch():
    batch = np.random.default_rng(0).integers(0, 256, (7, 300, 300, 3), dtype=np.uint8)
    together = resize(batch, 224)
    for position in range(7):
        np.testing.assert_array_equal(resize(batch[position : position + 1], 224)[0], together[position])


def test_rows_and_columns_are_not_swapped():
    pixels = np.zeros((1, 4, 4, 3), np.uint8)
    pixels[0, 0] = 200
    small = resize(pixels, 2)[0, ..., 0]
    assert small[0].min() > small[1].max()


@pytest.mark.parametrize(
    ("height", "width", "target"), [(512, 427, 256), (300, 224, 224), (100, 256, 224), (7, 90, 31)]
)
def test_each_axis_of_a_rectangle_is_resized_by_its_own_factor(height: int, width: int, target: int):
    pixels = he_tissue(np.random.default_rng(height), height, width)
    expected = np.asarray(Image.fromarray(pixels).resize((target, target), Image.Resampling.BILINEAR))
    (ours,) = resize(pixels[None], target)
    assert ours.shape == (target, target, 3)
    assert np.abs(ours.round() - expected).max() <= 1
