from __future__ import annotations

import numpy as np
import pytest

from wsi.slide.coding import REDUCTIONS, Reduction
from wsi.slide.reducing import reduce_pixels


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("height", "width"), [(64, 128), (65, 128), (64, 121), (3, 5)])
def test_each_pixel_is_the_rounded_mean_of_its_square(height: int, width: int, reduction: Reduction):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
    found = reduce_pixels(pixels, reduction)
    assert found.shape == (-(-height // reduction), -(-width // reduction), 3)
    for row in range(found.shape[0]):
        for column in range(0, found.shape[1], 7):
            square = pixels[row * reduction : (row + 1) * reduction, column * reduction : (column + 1) * reduction]
            mean = np.floor(square.reshape(-1, 3).mean(axis=0) + 0.5)
            np.testing.assert_array_equal(found[row, column], mean)


@pytest.mark.parametrize("side", [64, 60])
def test_white_stays_white(side: int):
    assert reduce_pixels(np.full((side, side, 3), 255, np.uint8), 8).min() == 255
