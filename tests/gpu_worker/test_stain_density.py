from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu_worker.models.stain_density import COLUMNS, STAINS, StainDensity, densities
from wsi.builtin_models import STAIN_DENSITY
from wsi.errors import ModelError
from wsi.plan import Numerics

NUMERICS = Numerics(version="1", precision="fp32", batch=4, threads=1)


def stained(stain: int, amount: float, side: int = 16) -> np.ndarray:
    """Glass through which light passes `amount` of one pure stain."""
    vector = STAINS[stain] / np.linalg.norm(STAINS[stain])
    return np.broadcast_to(np.rint(255 * 10 ** (-amount * vector)).astype(np.uint8), (side, side, 3))


@pytest.mark.parametrize("stain", range(3))
@pytest.mark.parametrize("amount", [0.2, 0.5, 1.0])
def test_pure_stains_separate(stain, amount):
    found = densities(stained(stain, amount))[:3]
    expected = np.zeros(3)
    expected[stain] = amount
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_white_is_zero():
    assert densities(np.full((8, 8, 3), 255, np.uint8)).tolist() == [0, 0, 0, 0]


def test_black_is_finite():
    assert np.isfinite(densities(np.zeros((8, 8, 3), np.uint8))).all()


def test_nuclear_fraction_is_the_share_of_haematoxylin_pixels():
    tile = np.full((16, 16, 3), 255, np.uint8)
    tile[:4] = stained(0, 0.6)[:4]
    tile[8:] = stained(1, 0.6)[8:]
    assert densities(tile)[3] == pytest.approx(0.25)


def test_a_row_does_not_depend_on_its_batch():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 64, 64, 3), np.uint8)
    model = StainDensity(STAIN_DENSITY)
    together = model.infer(pixels, NUMERICS)
    assert together.shape == (9, 4)
    assert together.dtype == np.float32
    alone = np.concatenate([model.infer(pixels[[row]], NUMERICS) for row in range(9)])
    assert together.tobytes() == alone.tobytes()
    assert model.infer(pixels[::-1], NUMERICS)[::-1].tobytes() == together.tobytes()


def test_the_card_names_what_is_computed():
    assert tuple(column.name for column in STAIN_DENSITY.columns) == COLUMNS
    with pytest.raises(ModelError):
        StainDensity(replace(STAIN_DENSITY, columns=STAIN_DENSITY.columns[::-1]))
