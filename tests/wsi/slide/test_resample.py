from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.slides import he_tissue
from wsi.records.model_card import Resize
from wsi.slide.resample import compute_antialias_weights, compute_pillow_weights, resample_box, resize, resize_as_pillow


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
    weights = compute_antialias_weights(source, target)
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


KINDS = {Resize.PILLOW_BILINEAR: Image.Resampling.BILINEAR, Resize.PILLOW_BICUBIC: Image.Resampling.BICUBIC}


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(list(KINDS)), st.integers(0, 2**32))
def test_pillows_weights_are_those_that_it_sums_with(source: int, target: int, kind: Resize, seed: int):
    """Of rows, whose sums are then those of one axis."""
    pixels = np.random.default_rng(seed).integers(0, 256, (4, source, 3), np.uint8)
    expected = np.asarray(Image.fromarray(pixels).resize((target, 4), KINDS[kind]))
    sums = np.einsum("yxc,tx->ytc", pixels.astype(np.int64), compute_pillow_weights(source, target, kind)) + 2**21
    ours = pixels if source == target else np.clip(sums >> 22, 0, 255)
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_squares_are_resized_as_pillow_does_in_one_call_and_rectangles_across_first(kind: Resize):
    square, tall = (np.random.default_rng(1).integers(0, 256, (2, side, 90, 3), np.uint8) for side in (90, 300))
    for pixels, target in ((square, 41), (square, 200), (square, 90), (tall, 41)):
        across = [Image.fromarray(tile).resize((target, tile.shape[0]), KINDS[kind]) for tile in pixels]
        down = np.stack([np.asarray(tile.resize((target, target), KINDS[kind])) for tile in across])
        np.testing.assert_array_equal(resize_as_pillow(pixels, target, kind), down)
    once = np.asarray(Image.fromarray(square[0]).resize((41, 41), KINDS[kind]))
    np.testing.assert_array_equal(resize_as_pillow(square, 41, kind)[0], once)


SIDES = st.integers(0, 4 * 1024).map(lambda part: part / 1024)


@settings(deadline=None, max_examples=60)
@given(SIDES, SIDES, st.integers(20 * 1024, 40 * 1024), st.sampled_from(list(KINDS)), st.integers(8, 48))
def test_a_box_at_fractions_of_a_pixel_is_sampled_as_by_pillow(left, top, length, kind, target):
    """In one call where the box touches a square; Pillow 13 begins a rectangle with the axis that costs less, older
    ones across, as we do."""
    side = length / 1024
    pixels = np.random.default_rng(length).integers(0, 256, (45, 46, 3), dtype=np.uint8)
    box = np.array((left, top, left + side, top + side))
    touched = pixels[int(top) : int(np.ceil(top + side)), int(left) : int(np.ceil(left + side))]
    inside = tuple(box - np.array((int(left), int(top)) * 2))
    image, rows = Image.fromarray(touched), len(touched)
    across = image.resize((target, rows), KINDS[kind], box=(inside[0], 0, inside[2], rows))
    expected = np.asarray(across.resize((target, target), KINDS[kind], box=(0, inside[1], target, inside[3])))
    np.testing.assert_array_equal(resample_box(pixels, box, target, kind), expected)
    if image.width == image.height:
        np.testing.assert_array_equal(np.asarray(image.resize((target, target), KINDS[kind], box=inside)), expected)
    pixels[: int(top)] = pixels[:, : int(left)] = 0
    pixels[int(np.ceil(top + side)) :] = pixels[:, int(np.ceil(left + side)) :] = 0
    np.testing.assert_array_equal(resample_box(pixels, box, target, kind), expected)


@pytest.mark.parametrize(("height", "width", "target"), [(90, 90, 64), (64, 64, 64), (40, 61, 64), (90, 64, 64)])
def test_a_box_on_whole_pixels_is_resized_as_without_one(height: int, width: int, target: int):
    pixels = he_tissue(np.random.default_rng(1), height, width)
    box = np.array((0.0, 0.0, width, height))
    for kind in KINDS:
        np.testing.assert_array_equal(
            resample_box(pixels, box, target, kind), resize_as_pillow(pixels[None], target, kind)[0]
        )
    exact = resample_box(pixels, box, target, Resize.EXACT)
    assert np.abs(exact - resize(pixels[None], target)[0]).max() <= 0.501


def test_a_box_moved_by_half_a_pixel_moves_the_picture():
    ramp = np.broadcast_to(np.arange(0, 240, 4, dtype=np.uint8)[None, :, None], (60, 60, 3))
    for kind in Resize:
        first, moved = (resample_box(ramp, np.array((at, 10.0, at + 40, 50.0)), 40, kind) for at in (10.0, 10.5))
        np.testing.assert_array_equal(moved[:, 2:-2].astype(int) - first[:, 2:-2], 2)
